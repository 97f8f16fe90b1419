package page

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// Shown is an object to show on a page. The filter selects the fields to show.
type Shown struct {
	*view.Object

	Filter view.Filter
}

type objectsData struct {
	head

	Objects []section
}

// Objects writes the HTML page that shows objects with their owners. For several objects, the page
// has a table of contents.
func Objects(w io.Writer, about About, objects []Shown) error {
	data := objectsData{head: head{About: about, Kicker: "Who owns which field", Title: plural(len(objects), "object")}}
	known := badges{}
	for i, o := range objects {
		data.Objects = append(data.Objects, newSection(known, about, i+1, o))
	}
	if len(objects) == 1 {
		data.Title, data.Objects[0].Sole = data.Objects[0].Name, true
	}
	return objectsTemplate.Execute(w, data)
}

// section is the data of the page template for one object.
type section struct {
	ID, Name, APIVersion, UID, ResourceVersion string

	Sole     bool     // the page shows only this object, so its title is the name of the object
	Absent   bool     // the object has no managed fields
	Live     bool     // the object was read from a cluster
	Errors   []string // why managed-fields entries could not be read
	Shares   shares
	Bar      bar
	Managers []manager
	Lines    []line
	More     int    // the number of YAML lines left out because the page would be too long
	Column   string // the CSS class for the column where the owners begin
	Shared   []field
	Unowned  []field
	Missing  []field // the owned fields that the object does not have
}

// field is a field in one of the lists below the YAML of an object: Shared, Unowned or Missing.
type field struct {
	Path   string
	Owners []chip
}

// chip is the label of an owner beside a field.
type chip struct {
	badge

	Name   string
	Exists bool // the owner owns only the existence of the map, the list or the list item
}

func newSection(known badges, about About, number int, o Shown) section {
	all := o.Item(view.Filter{})
	s := section{
		ID: fmt.Sprintf("object-%d", number), Name: cut(o.String()), APIVersion: safe(all.APIVersion),
		UID: safe(o.UID), ResourceVersion: safe(o.ResourceVersion),
		Absent: o.Absent, Live: o.Live, Shares: sharesOf(all.Fields),
	}
	for _, err := range o.Unread {
		s.Errors = append(s.Errors, text(err.Error()))
	}
	s.Managers = managersOf(known, about, all.Managers, s.Shares)
	s.Bar = s.Shares.bar(s.Managers)
	for _, f := range o.Item(o.Filter).Fields {
		switch {
		case len(f.Owners) == 0:
			s.Unowned = append(s.Unowned, field{Path: text(f.Path)})
		case len(f.Owners) > 1 && !f.Existence:
			s.Shared = append(s.Shared, field{text(f.Path), known.chips(f.Owners, false)})
		}
	}
	lines, missing := o.Lines(o.Filter)
	s.More = max(len(lines)-MaxLines, 0)
	lines = lines[:len(lines)-s.More]
	s.Lines, s.Column = linesOf(known, lines)
	for _, f := range missing {
		s.Missing = append(s.Missing, field{text(f.Path.String()), known.chips(view.OwnersOf(slices.Concat(f.Owners, f.Whole)), false)})
	}
	return s
}

func (b badges) chips(owners []view.OwnerItem, exists bool) []chip {
	var chips []chip
	for _, m := range owners {
		chips = append(chips, chip{b.of(m), cut(m.String()), exists})
	}
	return chips
}

// line is one line of the object in YAML, with the owners of the field on that line.
type line struct {
	Indent, Text string
	Owners, Item []chip // the owners of the field, and of the list item that begins here
	Nobody       bool
	Class        string // the CSS classes of the line
}

// MaxLines is the largest number of YAML lines on a page. A browser takes seconds to display a longer page.
const MaxLines = 20_000

// minColumn and maxColumn limit the column at which the owners begin, to the right of the YAML.
// page.css has a class for every fourth column.
const minColumn, maxColumn = 36, 76

// linesOf returns the lines of an object, and the CSS class for the column at which the owners begin. The column is at
// the end of the longest line of at most maxColumn characters. Longer lines are wrapped.
func linesOf(known badges, all []view.Line) ([]line, string) {
	lines := make([]line, 0, len(all))
	column := minColumn
	var before []chip
	for _, l := range all {
		content := strings.TrimLeft(l.Text, " ")
		shown := line{
			Indent: l.Text[:len(l.Text)-len(content)], Text: text(content), Nobody: l.Nobody,
			Owners: known.chips(view.OwnersOf(l.Owners), l.Existence), Item: known.chips(view.OwnersOf(l.Item), true),
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

// classes returns the CSS classes for the appearance and the owners of the line l. said is the view.Line from which l
// was made. before contains the owners of the previous line. A line with the same owners as the previous line gets the
// class "again".
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
