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

// Change is one value that differs between two objects. The values are not copied from the objects,
// and values of a Secret are not hidden: hide them before you show them. Existed and Exists say
// whether the field existed before and exists after, because the value null does not show this.
type Change struct {
	Path            Path
	Before, After   any
	Existed, Exists bool
}

// String returns the field and both values on one line, such as ".spec.replicas: 3 -> 5".
func (c Change) String() string {
	switch {
	case !c.Existed:
		return c.Path.String() + ": added " + FormatValue(c.After)
	case !c.Exists:
		return c.Path.String() + ": removed " + FormatValue(c.Before)
	}
	return c.Path.String() + ": " + FormatValue(c.Before) + " -> " + FormatValue(c.After)
}

// Changes returns the differences between two unstructured objects, sorted by path. nil stands for an
// object that does not exist. The result is empty exactly if the objects are equal.
//
// Maps are compared field by field. ownerships are the parsed managed fields of the objects. If they
// name items of a list by key or by value, the list is compared item by item. These values are compared
// as a whole: other lists, lists with an item that lacks a key field or has the same key as another
// item, lists in which only the order of the items changed, and values at a depth of 1000 levels.
func Changes(before, after any, ownerships ...Ownership) []Change {
	c := comparison{naming: namingOf(ownerships)}
	c.compare(nil, "", presence{before, before != nil}, presence{after, after != nil})
	slices.SortStableFunc(c.changes, func(a, b Change) int { return a.Path.Compare(b.Path) })
	return c.changes
}

// presence is a value that may be absent.
type presence struct {
	value  any
	exists bool
}

type comparison struct {
	naming  map[string]items.Naming
	changes []Change
}

// compare compares the values at one path. place is the path without the names of list items.
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

// compareMaps compares field by field if one side is a map with content, and the other side is a
// map or absent. Otherwise it returns false.
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

// compareLists compares item by item if the items of both lists have names. Otherwise it returns false.
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

// namingOf returns how each list names its items, as learned from the paths of the ownerships. The
// key of the result is the list's path without the names of list items, as the items of such lists
// have the same type.
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

// namedItem is an item of one or both lists.
type namedItem struct {
	name          fieldpath.PathElement
	before, after presence
}

// matchItems pairs the items of two lists by name. ok is false if an item has no name, if two items
// have the same name, or if the order of the common items changed.
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
