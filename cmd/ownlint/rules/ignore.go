package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const directivePrefix = "//ownlint:ignore"

// directive is a comment "//ownlint:ignore RULE reason".
type directive struct {
	pos          token.Pos
	rule, reason string
}

type line struct {
	file string
	line int
	rule string
}

// directiveTable holds the directives of a package. A directive covers its own line and the line below.
type directiveTable struct {
	list  []directive
	lines map[line]bool
}

func (t *directiveTable) covers(p token.Position, rule string) bool {
	return t.lines[line{p.Filename, p.Line, rule}] || t.lines[line{p.Filename, p.Line - 1, rule}]
}

var directives = &analysis.Analyzer{
	Name:             "ownlintdirectives",
	Doc:              "read the //ownlint:ignore comments",
	ResultType:       reflect.TypeFor[*directiveTable](),
	RunDespiteErrors: true,
	Run: func(pass *analysis.Pass) (any, error) {
		t := &directiveTable{lines: make(map[line]bool)}
		for _, file := range pass.Files {
			for _, group := range file.Comments {
				for _, c := range group.List {
					t.add(pass.Fset, c)
				}
			}
		}
		return t, nil
	},
}

func (t *directiveTable) add(fset *token.FileSet, c *ast.Comment) {
	text, ok := strings.CutPrefix(c.Text, directivePrefix)
	if !ok {
		return
	}
	rule, reason, _ := strings.Cut(strings.TrimSpace(text), " ")
	t.list = append(t.list, directive{c.Pos(), rule, strings.TrimSpace(reason)})
	if p := fset.Position(c.Pos()); reason != "" {
		t.lines[line{p.Filename, p.Line, rule}] = true
	}
}

// Ignore reports //ownlint:ignore comments that name no rule or give no reason.
var Ignore = &analysis.Analyzer{
	Name:     "ignore",
	Doc:      "report //ownlint:ignore comments without a known rule or without a reason",
	URL:      DocsURL + "ignore.md",
	Requires: []*analysis.Analyzer{directives},
}

func init() { // not in the literal: the analyzer refers to the list that holds it
	Ignore.Run = func(pass *analysis.Pass) (any, error) {
		for _, d := range pass.ResultOf[directives].(*directiveTable).list {
			var problem string
			switch {
			case !slices.Contains(names(), d.rule):
				problem = fmt.Sprintf("the comment must name a rule, but %q is not a rule; the rules are %s", d.rule, strings.Join(names(), ", "))
			case d.reason == "":
				problem = "the comment gives no reason, so the rule still applies; write //ownlint:ignore " + d.rule + " reason"
			default:
				continue
			}
			pass.Report(analysis.Diagnostic{Pos: d.pos, Category: "ignore", Message: "ignore: " + problem})
		}
		return nil, nil
	}
}

func names() []string {
	var list []string
	for _, a := range All() {
		if a != Ignore {
			list = append(list, NameOf(a))
		}
	}
	return list
}
