package main

import (
	"cmp"
	"fmt"
	"go/format"
	"io"
	"os"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// edit is a text edit as offsets into a file.
type edit struct {
	start, end int
	text       []byte
}

// applyFixes writes the fixes of findings to the files and returns the findings that remain. A fix that overlaps an
// earlier fix is left for the next run. If a fixed file would not parse, no file is changed.
func applyFixes(found []finding, stderr io.Writer) (remaining []finding, err error) {
	edits := make(map[string][]edit)
	for _, f := range found {
		if len(f.fixes) == 0 || !addFix(edits, f, f.fixes[0]) {
			remaining = append(remaining, f)
		}
	}
	fixed := make(map[string][]byte)
	for file, list := range edits {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("fixing: %w", err)
		}
		if fixed[file], err = format.Source(apply(content, list)); err != nil {
			return nil, fmt.Errorf("fixing %s: the result does not parse, so no file was changed: %w", file, err)
		}
	}
	for file, content := range fixed {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return nil, fmt.Errorf("fixing: %w", err)
		}
	}
	if n := len(found) - len(remaining); n > 0 {
		fmt.Fprintf(stderr, "ownlint: fixed %d of %d findings in %d files\n", n, len(found), len(fixed))
	}
	return remaining, nil
}

// addFix adds the edits of a fix, and reports false if the fix overlaps an earlier one.
func addFix(edits map[string][]edit, f finding, fix analysis.SuggestedFix) bool {
	var list []edit
	file := ""
	for _, e := range fix.TextEdits {
		start, end := f.fset.PositionFor(e.Pos, false), f.fset.PositionFor(e.End, false)
		file = start.Filename
		next := edit{start.Offset, end.Offset, e.NewText}
		if slices.ContainsFunc(edits[file], func(other edit) bool { return overlaps(next, other) }) {
			return false
		}
		list = append(list, next)
	}
	edits[file] = append(edits[file], list...)
	return true
}

// overlaps reports whether two edits touch the same text, or insert at the same place.
func overlaps(a, b edit) bool {
	return a.start == b.start || a.start < b.end && b.start < a.end
}

func apply(content []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(b.start, a.start) })
	for _, e := range edits {
		content = slices.Concat(content[:e.start], e.text, content[e.end:])
	}
	return content
}
