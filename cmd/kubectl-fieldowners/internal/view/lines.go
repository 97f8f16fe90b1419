package view

import (
	"slices"
	"strings"
	"time"

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

	lead  int     // how much of Text stands before the value
	value *string // what the rest of Text says; nil if that is no text, or goes on on further lines
	block bool    // begins or continues a text of several lines
	field *shown  // nil for the further lines of a text
	item  *shown  // the list item that begins here
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

// Label returns the name by which a manager of the object is shown.
func (o *Object) Label(m fieldowners.Manager) string { return labelsOf(o).of(m) }

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

// labels are the names by which the managers of one object are shown: as short as possible.
type labels struct {
	managers []fieldowners.Manager
	now      time.Time
}

func labelsOf(o *Object) labels {
	var l labels
	for _, entry := range o.Ownership.Entries() {
		l.managers = append(l.managers, entry.Manager)
	}
	return l
}

// of returns the name and the subresource, and the operation if another manager of the object
// has the same name.
func (l labels) of(m fieldowners.Manager) string {
	operation := ""
	if slices.ContainsFunc(l.managers, func(other fieldowners.Manager) bool {
		return other.Name == m.Name && other.Subresource == m.Subresource && other.Operation != m.Operation
	}) {
		operation = "/" + Safe(string(m.Operation))
	}
	return label(m, operation)
}

// detailed returns the operation, and how long ago the manager last wrote if that was
// recorded.
func (l labels) detailed(m fieldowners.Manager) string {
	text := label(m, "/"+Safe(string(m.Operation)))
	if m.Time.IsZero() {
		return text
	}
	return text + " " + Age(m.Time, l.now)
}

func label(m fieldowners.Manager, operation string) string {
	text := Safe(m.Name)
	if text == "" {
		text = `""`
	}
	text += operation
	if m.Subresource != "" {
		text += "[" + Safe(m.Subresource) + "]"
	}
	return text
}

// index returns the manager's index among all of the object, for its colour. Entries of one
// manager in several apiVersions have the same.
func (l labels) index(m fieldowners.Manager) int {
	return slices.IndexFunc(l.managers, m.SameWriter)
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

// Owners returns the owners of a field on one line.
func (o *Object) Owners(field fieldowners.Field) string {
	l := labelsOf(o)
	var texts []string
	for _, m := range distinct(slices.Concat(field.Owners, field.Whole)) {
		texts = append(texts, l.of(m))
	}
	return strings.Join(texts, ", ")
}
