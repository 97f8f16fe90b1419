package fieldowners

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Change is one value that differs between two objects. Its values are the
// objects' own, not copies. A null is a value: Existed and Exists tell it from a
// field that is not there. Those of a Secret are in it: hiding them is for whoever
// shows them.
type Change struct {
	Path            Path
	Before, After   any
	Existed, Exists bool
}

// String gives the field and both values on one line: .spec.replicas: 3 -> 5.
func (c Change) String() string {
	switch {
	case !c.Existed:
		return c.Path.String() + ": added " + short(c.After)
	case !c.Exists:
		return c.Path.String() + ": removed " + short(c.Before)
	}
	return c.Path.String() + ": " + short(c.Before) + " -> " + short(c.After)
}

// short gives a value as JSON, cut off where it is long, and in a form that does
// nothing to a terminal.
func short(v any) string {
	if v == concealed {
		return string(concealed)
	}
	var encoded strings.Builder
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return reflect.TypeOf(v).String()
	}
	const limit = 80
	text := []rune(strings.TrimSuffix(encoded.String(), "\n"))
	if len(text) > limit {
		return escapeUnseen(string(text[:limit])) + "…"
	}
	return escapeUnseen(string(text))
}

// Changes lists what differs between two unstructured objects, in the order of
// paths; nil is an object that does not exist. Equal objects give none, and objects
// that differ give at least one.
//
// Maps are compared field by field. Items of a list are compared one by one where
// the ownerships name items of that list by key or by value, as the managed fields
// of the objects do; a list of which they do not, one with an item that has not
// all of the key's fields or shares them with another item, and one whose items
// only changed places is compared as a whole. So is what is 1000 levels down.
func Changes(before, after any, ownerships ...Ownership) []Change {
	c := comparison{naming: namingOf(ownerships)}
	c.compare(nil, "", presence{before, before != nil}, presence{after, after != nil})
	slices.SortStableFunc(c.changes, func(a, b Change) int { return a.Path.Compare(b.Path) })
	return c.changes
}

// presence is a value that may not be there.
type presence struct {
	value  any
	exists bool
}

type comparison struct {
	naming  map[string]naming
	changes []Change
}

// compare compares what stands at one path. place is that path without the names
// of list items.
func (c *comparison) compare(at fieldpath.Path, place string, before, after presence) {
	if !before.exists && !after.exists || before.exists && after.exists && equalValues(before.value, after.value) {
		return
	}
	deep := len(at) >= MaxDepth
	if !deep && (c.compareMaps(at, place, before, after) || c.compareLists(at, place, before, after)) {
		return
	}
	c.changes = append(c.changes, Change{
		Path:   Path{elements: at.Copy()},
		Before: before.value, After: after.value,
		Existed: before.exists, Exists: after.exists,
	})
}

// compareMaps goes down where at least one side is a map with content and the
// other one is a map too or not there.
func (c *comparison) compareMaps(at fieldpath.Path, place string, before, after presence) bool {
	x, okX := before.value.(map[string]any)
	y, okY := after.value.(map[string]any)
	if !okX && before.exists || !okY && after.exists || len(x)+len(y) == 0 {
		return false
	}
	names := map[string]bool{}
	for name := range x {
		names[name] = true
	}
	for name := range y {
		names[name] = true
	}
	for name := range names {
		below := fieldpath.PathElement{FieldName: &name}
		valueX, hasX := x[name]
		valueY, hasY := y[name]
		c.compare(append(at.Copy(), below), placeBelow(place, below), presence{valueX, hasX}, presence{valueY, hasY})
	}
	return true
}

// compareLists goes down where the items of both lists have names.
func (c *comparison) compareLists(at fieldpath.Path, place string, before, after presence) bool {
	how, known := c.naming[place]
	x, okX := before.value.([]any)
	y, okY := after.value.([]any)
	if !known || !okX && before.exists || !okY && after.exists || len(x)+len(y) == 0 {
		return false
	}
	named, ok := how.match(x, y)
	if !ok {
		return false
	}
	for _, item := range named {
		c.compare(append(at.Copy(), item.name), placeBelow(place, item.name), item.before, item.after)
	}
	return true
}

// equalValues compares as JSON does: 1 and 1.0 are the same number.
func equalValues(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if other, has := y[name]; !has || !equalValues(v, other) {
				return false
			}
		}
		return true
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equalValues)
	case int64:
		if y, ok := b.(float64); ok {
			return float64(x) == y
		}
	case float64:
		if y, ok := b.(int64); ok {
			return x == float64(y)
		}
	}
	return reflect.DeepEqual(a, b)
}
