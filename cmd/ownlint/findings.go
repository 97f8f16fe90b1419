package main

import (
	"cmp"
	"fmt"
	"go/token"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
)

// finding is one diagnostic of a rule.
type finding struct {
	token.Position // the file name is relative to the working directory, where possible
	rule, message  string
	url            string
	fset           *token.FileSet
	fixes          []analysis.SuggestedFix
}

// collect returns the findings in the named packages, sorted by position, and the failures of analyzers.
func collect(graph *checker.Graph, named map[string]bool) (found []finding, failures []string) {
	failed := make(map[string]bool)
	for _, act := range graph.Roots {
		if !named[act.Package.PkgPath] {
			continue
		}
		if act.Err != nil && !failed[act.Package.PkgPath] {
			failed[act.Package.PkgPath] = true
			failures = append(failures, fmt.Sprintf("cannot check %s: %v", act.Package.PkgPath, act.Err))
		}
		for _, d := range act.Diagnostics {
			at := act.Package.Fset.Position(d.Pos)
			at.Filename = relative(at.Filename)
			found = append(found, finding{
				Position: at, rule: d.Category, message: d.Message, url: d.URL,
				fset: act.Package.Fset, fixes: d.SuggestedFixes,
			})
		}
	}
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.message, b.message))
	})
	return found, failures
}

// relative makes the file name at the start of a text relative to the working directory.
func relative(text string) string {
	wd, err := os.Getwd()
	if err != nil {
		return text
	}
	return strings.TrimPrefix(text, wd+string(os.PathSeparator))
}

func printText(w io.Writer, found []finding) error {
	for _, f := range found {
		if _, err := fmt.Fprintf(w, "%s: %s\n", f.Position, f.message); err != nil {
			return err
		}
	}
	return nil
}
