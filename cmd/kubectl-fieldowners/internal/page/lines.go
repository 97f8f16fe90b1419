package page

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// line is a line of the object as YAML.
type line struct {
	Indent, Text string
	Owners, Item []chip
	Nobody       bool
	Class        string
}

// MaxLines is how many lines of objects a page has: a browser takes seconds for more.
const MaxLines = 20_000

// Columns of text before the owners; page.css has a class for each fourth.
const minColumn, maxColumn = 36, 76

// linesOf returns the lines, and the class of the column where owners begin: after the widest
// line that leaves room for them. Longer lines are broken.
func linesOf(names names, all []view.Line) ([]line, string) {
	lines := make([]line, 0, len(all))
	column := minColumn
	var before []chip
	for _, l := range all {
		content := strings.TrimLeft(l.Text, " ")
		shown := line{
			Indent: l.Text[:len(l.Text)-len(content)], Text: text(content), Nobody: l.Nobody,
			Owners: names.managers(l.Owners, l.Existence), Item: names.managers(l.Item, true),
		}
		shown.Class = shown.classes(l, before)
		before = slices.Concat(shown.Owners, shown.Item)
		lines = append(lines, shown)
		if width := utf8.RuneCountInString(shown.Indent + shown.Text); width <= maxColumn {
			column = max(column, (width+3)/4*4)
		}
	}
	return lines, fmt.Sprintf("w%d", column)
}

// classes returns the classes for the look of a line, and for the managers that own its field.
func (l line) classes(said view.Line, before []chip) string {
	var classes []string
	owners := slices.Concat(l.Owners, l.Item)
	for _, c := range owners {
		classes = append(classes, "o-"+c.Class())
	}
	if len(l.Owners) > 1 && !said.Existence {
		classes = append(classes, "o-many")
	}
	switch {
	case l.Nobody:
		classes = append(classes, "o-none")
	case said.Context:
		classes = append(classes, "context")
	case len(owners) > 0 && slices.Equal(owners, before):
		classes = append(classes, "again")
	}
	return strings.Join(classes, " ")
}
