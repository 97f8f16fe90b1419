package fieldowners

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/items"
	"coapply.dev/fieldowners/internal/notation"
)

// Change is one field whose value differs between two objects: Before is the value in the first
// object, After the value in the second. The values are not copied, and values of a Secret are not
// hidden: see Hide. Existed and Exists report whether the field exists in the first and in the second
// object, because a nil value may also mean that the field exists and is null.
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

// Changes returns the differences between two unstructured objects, sorted by path. before or after is
// nil if that object does not exist. The result is empty exactly if the objects are equal.
//
// Maps are compared field by field. Lists are compared item by item if the managed fields in ownerships
// identify the items of the list by key or by value. ownerships are the parsed managed fields of the
// two objects. The following values are compared as a whole:
//   - other lists, and lists in which an item lacks a key field or has the same key as another item;
//   - lists in which only the order of the items changed;
//   - values nested 1000 levels deep.
func Changes(before, after any, ownerships ...Ownership) []Change {
	c := comparison{naming: namingOf(ownerships)}
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
	naming  map[string]items.Naming
	changes []Change
}

// compare appends the differences between two values of a field. The argument at is the path of the field. The
// argument place is the path as text, with [] for each list item, such as .spec.containers[].ports.
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

// compareMaps compares the values field by field if both are maps, and returns true. An absent value
// counts as an empty map. It compares nothing and returns false if a value is not a map, or if both
// maps are empty.
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

// compareLists compares the values item by item if both are lists, and returns true. It compares
// nothing and returns false if a value is not a list, if both lists are empty, or if matchItems cannot
// pair the items.
func (c *comparison) compareLists(at fieldpath.Path, place string, before, after presence) bool {
	how, known := c.naming[place]
	x, okX := before.value.([]any)
	y, okY := after.value.([]any)
	if !known || !okX && before.exists || !okY && after.exists || len(x)+len(y) == 0 {
		return false
	}
	named, ok := matchItems(how, x, y)
	if !ok {
		return false
	}
	for _, item := range named {
		c.compare(append(at.Copy(), item.name), placeBelow(place, item.name), item.before, item.after)
	}
	return true
}

// namingOf returns how managed fields identify the items of each list: by key fields or by value. It derives this
// from the paths in the ownerships. The keys of the result are the paths of the lists, with [] for each list item in
// the path. For example, .spec.containers[].ports is the path of the ports of all containers.
func namingOf(ownerships []Ownership) map[string]items.Naming {
	known := map[string]items.Naming{}
	learn := func(path fieldpath.Path) {
		place := ""
		for _, element := range path {
			if how, ok := items.NamingOf(element); ok {
				if other, has := known[place]; has && !slices.Equal(how.Fields, other.Fields) {
					how.Disputed = true
				} else if has {
					how = other
				}
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
	return place + notation.Text(element)
}

// namedItem is the name of a list item, with the item's value in each of the two compared lists.
type namedItem struct {
	name          fieldpath.PathElement
	before, after presence
}

// matchItems pairs the items of two lists by name. ok is false if an item has no name, if two items of
// one list have the same name, or if the items that both lists contain are in a different order.
func matchItems(how items.Naming, before, after []any) (pairs []namedItem, ok bool) {
	oldNames, ok := how.NameAll(before)
	if !ok {
		return nil, false
	}
	newNames, ok := how.NameAll(after)
	if !ok {
		return nil, false
	}
	position := map[string]int{}
	for i, name := range oldNames {
		position[notation.Text(name)] = i
		pairs = append(pairs, namedItem{name: name, before: presence{before[i], true}})
	}
	last := -1
	for i, name := range newNames {
		there, common := position[notation.Text(name)]
		switch {
		case !common:
			pairs = append(pairs, namedItem{name: name, after: presence{after[i], true}})
			continue
		case there < last:
			return nil, false
		}
		pairs[there].after, last = presence{after[i], true}, there
	}
	return pairs, true
}

// FormatValue returns a value as JSON on one line, cut off after 80 characters. Invisible characters
// are escaped, so that the text cannot control a terminal. For Hidden it returns "(hidden)".
func FormatValue(v any) string {
	if hidden, is := v.(hiddenValue); is {
		return string(hidden)
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
		return notation.EscapeUnseen(string(text[:limit])) + "…"
	}
	return notation.EscapeUnseen(string(text))
}

// equalValues reports whether two values are equal as JSON. 1 and 1.0 are the same number.
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
