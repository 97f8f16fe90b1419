package view

import (
	"slices"

	"coapply.dev/fieldowners"
)

// Line is one line of an object in YAML, with the owners of the field on that line.
type Line struct {
	Text      string
	Owners    []fieldowners.Manager // the owners of the field, each once
	Existence bool                  // Owners own only the existence of the map, the list or the list item
	Nobody    bool                  // no manager owns the field, although it has a value
	Item      []fieldowners.Manager // the owners of the list item that begins on this line, if they differ from Owners
	Context   bool                  // the filter did not select the field; the line only shows where a selected field is

	field *shown // the field on this line; nil for the second and later lines of a multi-line value
	item  *shown // the list item that begins on this line
}

// Lines returns the selected fields of the object as lines of YAML, and the selected fields that have an owner but
// are missing from the object. Both results are empty if the filter selects nothing.
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

// say sets the owner information of a line. It sets Nobody only if the owners of all fields are known.
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

// isExistence reports whether the owners of a map, list or list item own only its existence.
func isExistence(field fieldowners.Field) bool {
	return len(field.Owners) > 0 && slices.ContainsFunc(field.Fields, func(below fieldowners.Field) bool { return len(below.Whole) == 0 })
}

// index returns the manager's index among the managers of the object. The index decides the manager's
// colour. A manager with entries in several apiVersions has one index.
func (o *Object) index(m fieldowners.Manager) int {
	return slices.IndexFunc(o.Ownership.Entries(), func(entry fieldowners.Entry) bool { return entry.SameWriter(m) })
}

// distinct returns each manager only once, even if it has entries in several apiVersions.
func distinct(managers []fieldowners.Manager) []fieldowners.Manager {
	var found []fieldowners.Manager
	for _, m := range managers {
		if !slices.ContainsFunc(found, m.SameWriter) {
			found = append(found, m)
		}
	}
	return found
}
