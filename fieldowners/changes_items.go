package fieldowners

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// naming says how the items of a list are named: by the values of these fields, or
// without fields by their own value. Ownerships that disagree name nothing.
type naming struct {
	fields   []string
	disputed bool
}

// namingOf learns from the paths of ownerships how lists name their items. All
// items of one list are of one type, so what is learned about one holds for its
// siblings: a place is a path without the names of items.
func namingOf(ownerships []Ownership) map[string]naming {
	known := map[string]naming{}
	learn := func(path fieldpath.Path) {
		place := ""
		for _, element := range path {
			if how, ok := namingBy(element); ok {
				if other, has := known[place]; has && !slices.Equal(how.fields, other.fields) {
					how.disputed = true
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

func namingBy(element fieldpath.PathElement) (naming, bool) {
	var how naming
	if element.Key != nil {
		for _, field := range *element.Key {
			how.fields = append(how.fields, field.Name)
		}
	}
	return how, element.Key != nil || element.Value != nil
}

func placeBelow(place string, element fieldpath.PathElement) string {
	if element.FieldName == nil {
		return place + "[]"
	}
	return place + textOf(element)
}

// namedItem is an item of one or both lists.
type namedItem struct {
	name          fieldpath.PathElement
	before, after presence
}

// match pairs the items of two lists by name. ok is false where an item has none,
// two items share one, or items that are in both changed places.
func (n naming) match(before, after []any) (items []namedItem, ok bool) {
	oldNames, ok := n.nameAll(before)
	if !ok {
		return nil, false
	}
	newNames, ok := n.nameAll(after)
	if !ok {
		return nil, false
	}
	position := map[string]int{}
	for i, name := range oldNames {
		position[textOf(name)] = i
		items = append(items, namedItem{name: name, before: presence{before[i], true}})
	}
	last := -1
	for i, name := range newNames {
		there, common := position[textOf(name)]
		switch {
		case !common:
			items = append(items, namedItem{name: name, after: presence{after[i], true}})
			continue
		case there < last:
			return nil, false
		}
		items[there].after, last = presence{after[i], true}, there
	}
	return items, true
}

// nameAll names every item of a list; ok is false where names are missing or not
// unique.
func (n naming) nameAll(items []any) (names []fieldpath.PathElement, ok bool) {
	seen := map[string]bool{}
	for _, item := range items {
		name, ok := n.nameOf(item)
		if !ok || seen[textOf(name)] {
			return nil, false
		}
		seen[textOf(name)] = true
		names = append(names, name)
	}
	return names, true
}

func textOf(element fieldpath.PathElement) string {
	var b strings.Builder
	writeElement(&b, element)
	return b.String()
}

// nameOf names one item; ok is false where it lacks a field of the key, or where
// what would name it is no scalar.
func (n naming) nameOf(item any) (name fieldpath.PathElement, ok bool) {
	if n.disputed {
		return name, false
	}
	if len(n.fields) == 0 {
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}, isScalar(item)
	}
	fields, _ := item.(map[string]any)
	var key value.FieldList
	for _, field := range n.fields {
		if !isScalar(fields[field]) {
			return name, false
		}
		key = append(key, value.Field{Name: field, Value: value.NewValueInterface(fields[field])})
	}
	return fieldpath.PathElement{Key: &key}, true
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}
