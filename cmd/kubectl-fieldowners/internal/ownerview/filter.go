package ownerview

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// Filter says which fields are shown. Its empty parts show everything.
type Filter struct {
	Paths     []fieldowners.Path // these fields and everything below them
	Managers  []string           // owned by one of these
	Operation metav1.ManagedFieldsOperationType
	Shared    bool // owned by several
	Unowned   bool // owned by nobody
}

// IsEmpty reports whether the filter shows everything.
func (f Filter) IsEmpty() bool {
	return len(f.Paths) == 0 && len(f.Managers) == 0 && f.Operation == "" && !f.Shared && !f.Unowned
}

// matches reports whether a field itself is asked for.
func (f Filter) matches(field fieldowners.Field) bool {
	if len(f.Paths) > 0 && !slices.ContainsFunc(f.Paths, field.Path.HasPrefix) {
		return false
	}
	if f.Unowned && !field.IsUnowned() || f.Shared && !field.IsShared() {
		return false
	}
	if len(f.Managers) == 0 && f.Operation == "" {
		return true
	}
	return slices.ContainsFunc(slices.Concat(field.Owners, field.Whole), func(m fieldowners.Manager) bool {
		return (len(f.Managers) == 0 || slices.Contains(f.Managers, m.Name)) && (f.Operation == "" || f.Operation == m.Operation)
	})
}

// shown is a field to show, with those below it.
type shown struct {
	fieldowners.Field

	matches bool // false: it is only there because of a field below it
	below   []shown
}

// choose returns the fields to show; ok is false if there are none at the field or
// below it. A list item that is shown keeps the fields by which it is known.
func (f Filter) choose(field fieldowners.Field) (chosen shown, ok bool) {
	chosen = shown{Field: field, matches: f.matches(field)}
	var keys []shown
	for _, child := range field.Fields {
		below, found := f.choose(child)
		switch {
		case found:
			chosen.below = append(chosen.below, below)
		case isKeyField(field, child):
			keys = append(keys, below)
		}
	}
	ok = chosen.matches || len(chosen.below) > 0
	if ok && len(keys) > 0 {
		chosen.below = append(keys, chosen.below...)
	}
	return chosen, ok
}

func isKeyField(item, field fieldowners.Field) bool {
	steps, below := item.Path.Elements(), field.Path.Elements()
	if len(steps) == 0 {
		return false
	}
	name := below[len(below)-1].Field
	return name != nil && slices.Contains(steps[len(steps)-1].Keys, *name)
}

// Fields lists what the filter asks for of an object, parents first.
func (f Filter) Fields(o *Object) []fieldowners.Field {
	var found []fieldowners.Field
	for field := range o.Root.All() {
		if !field.Path.IsRoot() && f.matches(field) && (o.knowsAll() || !field.IsUnowned()) {
			found = append(found, field)
		}
	}
	return found
}
