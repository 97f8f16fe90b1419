package ownerview

import (
	"slices"

	"coapply.dev/fieldowners"
)

// Line is one line of an object as YAML, with who owns what it shows.
type Line struct {
	Text      string
	Owners    []fieldowners.Manager // of the field on this line, each once
	Existence bool                  // they own that the map, the list or the list item exists
	Nobody    bool                  // the field is a value that nobody owns
	Item      []fieldowners.Manager // of the list item that begins here, where that says more
	Context   bool                  // the filter did not ask for it; it shows where something is

	line line
}

// Lines returns the object as YAML, and the owned fields that are not in it. Both are
// empty if the filter asks for nothing that there is.
func (o *Object) Lines(filter Filter) (lines []Line, missing []fieldowners.Field) {
	if o.Absent { // nobody knows who owns what
		filter = Filter{Paths: filter.Paths}
	}
	chosen, ok := filter.choose(o.Root)
	if !ok {
		return nil, nil
	}
	var w yamlWriter
	w.all(w.content(&chosen), "", 0)
	for _, l := range w.lines {
		said := Line{Text: l.text, line: l}
		if l.field != nil && !o.Absent {
			said = l.said()
			said.Nobody = said.Nobody && o.knowsAll()
		}
		lines = append(lines, said)
	}
	return lines, w.missing
}

// Label returns the name by which a manager of the object is shown.
func (o *Object) Label(m fieldowners.Manager) string { return labelsOf(o).of(m) }

// said returns what is to be said about the line of a field.
func (l line) said() Line {
	said := Line{Text: l.text, line: l, Context: !l.field.matches && len(l.field.below) == 0}
	if !l.field.matches {
		return said
	}
	said.Owners = distinct(slices.Concat(l.field.Owners, l.field.Whole))
	said.Nobody = l.field.IsUnowned()
	said.Existence = len(l.field.Fields) > 0 && len(l.field.Owners) > 0 && !wholeFrom(l.field.Field)
	if l.item == nil || !l.item.matches {
		return said
	}
	item := distinct(l.item.Owners)
	if !slices.EqualFunc(item, said.Owners, func(a, b fieldowners.Manager) bool { return a.String() == b.String() }) {
		said.Item = item
	}
	return said
}

// wholeFrom reports whether everything below the field belongs to its owners.
func wholeFrom(field fieldowners.Field) bool {
	return !slices.ContainsFunc(field.Fields, func(below fieldowners.Field) bool { return len(below.Whole) == 0 })
}
