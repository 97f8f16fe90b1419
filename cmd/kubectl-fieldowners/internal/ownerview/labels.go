package ownerview

import (
	"slices"
	"strings"
	"time"

	"coapply.dev/fieldowners"
)

// labels are the names by which the managers of one object are shown: as short as
// tells them apart.
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

// of returns the name and the subresource, and the operation where another manager of
// the object has that name too.
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

// index returns the manager's place among all of the object, for its colour. Entries of
// one manager in several apiVersions share it.
func (l labels) index(m fieldowners.Manager) int {
	return slices.IndexFunc(l.managers, func(other fieldowners.Manager) bool { return other.String() == m.String() })
}

// distinct leaves each manager once, whatever the apiVersions of its entries.
func distinct(managers []fieldowners.Manager) []fieldowners.Manager {
	var found []fieldowners.Manager
	for _, m := range managers {
		if !slices.ContainsFunc(found, func(known fieldowners.Manager) bool { return known.String() == m.String() }) {
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
