package fieldowners

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Change is one field whose value differs between two objects: Before is the value in the first object, After the value
// in the second. The values are not copied, and values of a Secret are not hidden: see Hide. Existed and Exists report
// whether the field exists in the first and in the second object. A nil value may also mean that the field is null.
type Change struct {
	Path            Path
	Before, After   any
	Existed, Exists bool
}

// String returns the field's path and both values on one line, such as ".spec.replicas: 3 -> 5".
func (c Change) String() string {
	switch {
	case !c.Existed:
		return c.Path.String() + ": added " + FormatValue(c.After)
	case !c.Exists:
		return c.Path.String() + ": removed " + FormatValue(c.Before)
	}
	return c.Path.String() + ": " + FormatValue(c.Before) + " -> " + FormatValue(c.After)
}

// Changes returns the differences between two unstructured objects, sorted by path. before or after is nil if that object
// does not exist. The result is empty if and only if the objects are equal.
//
// Maps are compared field by field. Lists are compared item by item if the parsed managed fields in ownerships identify
// the items of the list by key or by value. The following values are compared as a whole:
//   - other lists, and lists in which an item lacks a key field or has the same key as another item;
//   - lists in which only the order of the items changed;
//   - values nested 1000 levels deep.
func Changes(before, after any, ownerships ...Ownership) []Change {
	c := comparison{namings: namingsIn(ownerships)}
	c.compare(nil, "", presence{before, before != nil}, presence{after, after != nil})
	slices.SortStableFunc(c.changes, func(a, b Change) int { return a.Path.Compare(b.Path) })
	return c.changes
}

// presence is the value of a field in one of the two compared objects. The field may be absent.
type presence struct {
	value  any
	exists bool
}

type comparison struct {
	namings map[string]naming
	changes []Change
}

// compare appends the differences between two values of a field. The argument at is the path of the field. The
// argument place is the path as text, with [] for each list item, such as .spec.containers[].ports.
func (c *comparison) compare(at fieldpath.Path, place string, before, after presence) {
	if before.exists == after.exists && equalValues(before.value, after.value) {
		return
	}
	if len(at) < MaxDepth && (c.compareMaps(at, place, before, after) || c.compareLists(at, place, before, after)) {
		return
	}
	c.changes = append(c.changes, Change{
		Path:   Path{elements: at.Copy()},
		Before: before.value, After: after.value,
		Existed: before.exists, Exists: after.exists,
	})
}

// compareMaps compares the values field by field if both are maps, and returns true. An absent value counts as an empty
// map. It compares nothing and returns false if a value is not a map, or if both maps are empty.
func (c *comparison) compareMaps(at fieldpath.Path, place string, before, after presence) bool {
	x, okX := before.value.(map[string]any)
	y, okY := after.value.(map[string]any)
	if !okX && before.exists || !okY && after.exists || len(x)+len(y) == 0 {
		return false
	}
	names := map[string]any{}
	maps.Copy(names, x)
	maps.Copy(names, y)
	for name := range names {
		below := fieldpath.PathElement{FieldName: &name}
		valueX, hasX := x[name]
		valueY, hasY := y[name]
		c.compare(append(at.Copy(), below), placeBelow(place, below), presence{valueX, hasX}, presence{valueY, hasY})
	}
	return true
}

// compareLists compares the values item by item if both are lists, and returns true. It compares nothing and returns
// false if a value is not a list, if both lists are empty, if an item cannot be identified, or if the items that both
// lists contain are in a different order.
func (c *comparison) compareLists(at fieldpath.Path, place string, before, after presence) bool {
	how, known := c.namings[place]
	x, okX := before.value.([]any)
	y, okY := after.value.([]any)
	if !known || !okX && before.exists || !okY && after.exists || len(x)+len(y) == 0 {
		return false
	}
	older, newer := how.list(x), how.list(y)
	if !older.isDistinct() || !newer.isDistinct() || !inOrder(older, newer) {
		return false
	}
	var names fieldpath.PathElementSet
	for _, name := range slices.Concat(older.names, newer.names) {
		names.Insert(name)
	}
	names.Iterate(func(name fieldpath.PathElement) {
		c.compare(append(at.Copy(), name), placeBelow(place, name), older.presence(name), newer.presence(name))
	})
	return true
}

// inOrder reports whether the items that both lists contain are in the same order.
func inOrder(older, newer namedList) bool {
	var places []int
	for _, name := range older.names {
		if i := newer.find(name); i >= 0 {
			places = append(places, i)
		}
	}
	return slices.IsSorted(places)
}

func (l namedList) presence(name fieldpath.PathElement) presence {
	if i := l.find(name); i >= 0 {
		return presence{l.items[i], true}
	}
	return presence{}
}

// namingsIn returns, for each list, whether the paths in the ownerships identify its items by key fields or by value.
// The keys of the result are the paths of the lists, with [] for each list item in the path. For example,
// .spec.containers[].ports is the path of the ports of all containers.
func namingsIn(ownerships []Ownership) map[string]naming {
	known := map[string]naming{}
	learn := func(path fieldpath.Path) {
		place := ""
		for _, element := range path {
			if how, ok := namingOf(element); ok {
				other, has := known[place]
				how.disputed = has && (other.disputed || !slices.Equal(how.fields, other.fields))
				known[place] = how
			}
			place = placeBelow(place, element)
		}
	}
	for _, ownership := range ownerships {
		for _, entry := range ownership.entries {
			entry.fields.Iterate(learn)
		}
	}
	return known
}

func placeBelow(place string, element fieldpath.PathElement) string {
	if element.FieldName == nil {
		return place + "[]"
	}
	return place + textOf(element)
}

// FormatValue returns a value as JSON on one line, cut off after 80 characters. Invisible characters are escaped, so
// that the text cannot control a terminal. For Hidden it returns "(hidden)".
func FormatValue(v any) string {
	if hidden, is := v.(hiddenValue); is {
		return string(hidden)
	}
	const limit = 80
	text := []rune(jsonText(v))
	if len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return string(text)
}

// equalValues reports whether two values are equal as JSON. 1 and 1.0 are the same number.
func equalValues(a, b any) bool {
	return value.Equals(value.NewValueInterface(a), value.NewValueInterface(b))
}
