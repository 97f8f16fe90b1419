package fieldowners

import (
	"slices"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/items"
	"coapply.dev/fieldowners/internal/notation"
)

// namingOf returns how lists name their items, by the paths of the ownerships. Items of one
// list have the same type, so the keys are those of a place: a path without the names of items.
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

// matchItems pairs the items of two lists by name. ok is false if an item has no name, two
// items have the same, or items that are in both lists changed their order.
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
