package view

import (
	"slices"

	"coapply.dev/fieldowners"
)

// Line is one line of an object as YAML, with the owners of what it shows.
type Line struct {
	Text      string
	Owners    []fieldowners.Manager // of the field on this line, each once
	Existence bool                  // they own only the existence of the map, the list or the list item
	Nobody    bool                  // the field is a value that nobody owns
	Item      []fieldowners.Manager // of the list item that begins here, if they are others
	Context   bool                  // the filter did not select it; it shows where something is

	field *shown // nil for the further lines of a text
	item  *shown // the list item that begins here
}

// Lines returns the object as YAML, and the owned fields that are not in it. Both are empty if
// the filter selects nothing.
func (o *Object) Lines(filter Filter) (lines []Line, missing []fieldowners.Field) {
	if o.Absent { // the owners are not known
		filter = Filter{Paths: filter.Paths}
	}
	chosen, ok := filter.choose(o.Root)
	if !ok {
		return nil, nil
	}
	var w yamlWriter
	w.all(w.content(&chosen), "", 0)
	for i := range w.lines {
		if l := &w.lines[i]; l.field != nil && !o.Absent {
			l.say(o.knowsAll())
		}
	}
	return w.lines, w.missing
}

// say notes who owns the field of a line. Unless all owners are known, none is nobody's.
func (l *Line) say(allKnown bool) {
	if l.Context = !l.field.matches && len(l.field.below) == 0; !l.field.matches {
		return
	}
	l.Owners = distinct(slices.Concat(l.field.Owners, l.field.Whole))
	l.Nobody = l.field.IsUnowned() && allKnown
	l.Existence = isExistence(l.field.Field)
	if l.item == nil || !l.item.matches {
		return
	}
	item := distinct(l.item.Owners)
	if !slices.EqualFunc(item, l.Owners, fieldowners.Manager.SameWriter) {
		l.Item = item
	}
}

// isExistence reports whether the owners of a field own its existence, and not all below it.
func isExistence(field fieldowners.Field) bool {
	return len(field.Owners) > 0 && slices.ContainsFunc(field.Fields, func(below fieldowners.Field) bool { return len(below.Whole) == 0 })
}

// index returns a manager's index among those of the object, for its colour. Entries of one
// manager in several apiVersions have the same.
func (o *Object) index(m fieldowners.Manager) int {
	return slices.IndexFunc(o.Ownership.Entries(), func(entry fieldowners.Entry) bool { return entry.SameWriter(m) })
}

// distinct returns each manager once, in any apiVersion.
func distinct(managers []fieldowners.Manager) []fieldowners.Manager {
	var found []fieldowners.Manager
	for _, m := range managers {
		if !slices.ContainsFunc(found, m.SameWriter) {
			found = append(found, m)
		}
	}
	return found
}
