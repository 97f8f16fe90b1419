// Package model predicts what an API server and package apply do with random intents: the result of each apply, its
// conflicts, and the owners of the fields.
package model

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
)

// Dice makes the random choices of a test. The same seed gives the same choices.
type Dice struct{ *rand.Rand }

// NewDice returns Dice with a seed. The stream separates several Dice with the same seed.
func NewDice(seed, stream uint64) Dice { return Dice{rand.New(rand.NewPCG(seed, stream))} }

// Chance returns true with the probability p.
func (d Dice) Chance(p float64) bool { return d.Float64() < p }

// Pick returns a random element.
func Pick[T any](d Dice, from []T) T { return from[d.IntN(len(from))] }

// Subresource returns a random subresource for a write: most often "", which is the object itself, or else "status".
func (d Dice) Subresource(s *Shape) string {
	if s.Fields["status"] != nil && d.Chance(0.25) {
		return "status"
	}
	return ""
}

// Config returns a random apply configuration of a kind, with only the fields that a write through the subresource can
// change. It has no empty containers.
func (d Dice) Config(s *Shape, subresource string) Tree {
	for {
		value, ok := d.value(s, 0.45)
		if !ok {
			continue
		}
		t := Flatten(s, value).Only(func(path string) bool { return reaches(subresource, path) })
		if len(t) > 1 {
			return t
		}
	}
}

// value returns a random value, or false if the value would be an empty container. A container gets each possible
// element with the probability share.
func (d Dice) value(s *Shape, share float64) (any, bool) {
	switch s.Kind {
	case ObjectShape:
		value := d.object(s, share)
		return value, len(value) > 0
	case MapShape:
		value := map[string]any{}
		for _, name := range s.Names {
			if elem, ok := d.value(s.Elem, share); ok && d.Chance(share) {
				value[name] = elem
			}
		}
		return value, len(value) > 0
	case ListShape:
		items := d.items(s, share)
		return items, len(items) > 0
	case SetShape:
		var items []any
		for _, item := range s.Elem.Samples {
			if d.Chance(share) {
				items = append(items, item)
			}
		}
		d.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items, len(items) > 0
	}
	return Pick(d, s.Samples), true
}

func (d Dice) object(s *Shape, share float64) map[string]any {
	value := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		if field, ok := d.value(s.Fields[name], share); ok && d.Chance(share) {
			value[name] = field
		}
	}
	return value
}

// items returns a random associative list, with items for some combinations of keys. A key with its default value is
// sometimes left out.
func (d Dice) items(s *Shape, share float64) []any {
	combinations := []map[string]any{{}}
	for _, key := range s.Keys {
		var longer []map[string]any
		for _, combination := range combinations {
			for _, sample := range s.Elem.Fields[key].Samples {
				with := maps.Clone(combination)
				with[key] = sample
				longer = append(longer, with)
			}
		}
		combinations = longer
	}
	d.Shuffle(len(combinations), func(i, j int) { combinations[i], combinations[j] = combinations[j], combinations[i] })
	var items []any
	for _, combination := range combinations {
		if !d.Chance(share) {
			continue
		}
		item := d.object(s.Elem, share)
		maps.Copy(item, combination)
		for key, value := range s.Elem.Defaults {
			if reflect.DeepEqual(item[key], value) && d.Chance(0.5) {
				delete(item, key)
			}
		}
		items = append(items, item)
	}
	return items
}

// Edited returns a copy of the tree with some random changes, as a client makes before an update. The fields in keep
// are not removed.
func (d Dice) Edited(t Tree, s *Shape, subresource string, keep Fields) Tree {
	edited := maps.Clone(t)
	for range 1 + d.IntN(3) {
		if d.Chance(0.5) {
			maps.Copy(edited, d.pruned(d.Config(s, subresource)))
			continue
		}
		top := Pick(d, slices.Sorted(maps.Keys(edited)))
		if reaches(subresource, top) && edited.canLose(top, keep) {
			edited.cut(top)
			if d.Chance(0.7) {
				edited.DropEmpty()
			}
		}
	}
	return edited
}

// pruned returns a random small part of a configuration.
func (d Dice) pruned(config Tree) Tree {
	chosen := Pick(d, slices.Sorted(maps.Keys(config)))
	return config.Only(func(path string) bool {
		return Within(path, chosen) || config.isKey(path) && Within(chosen, config[path].parent)
	})
}

// isKey reports whether a field is one of the keys of a list item.
func (t Tree) isKey(path string) bool {
	n := t[path]
	holder, known := t[n.parent]
	if !known || holder.parent == "-" {
		return false
	}
	list := t[holder.parent].shape
	return list != nil && list.Kind == ListShape && slices.Contains(list.Keys, n.name)
}

// canLose reports whether a field may be removed: it is no key of a list item, and no field of keep is at or below it.
func (t Tree) canLose(top string, keep Fields) bool {
	for path := range keep {
		if Within(path, top) {
			return false
		}
	}
	return top != "" && !t.isKey(top)
}

// DropEmpty removes empty containers, and then the containers that this has emptied.
func (t Tree) DropEmpty() {
	for before := -1; before != len(t); {
		before = len(t)
		for at, n := range maps.Clone(t) {
			if at != "" && n.shape.Kind != LeafShape && len(t.children(at)) == 0 {
				delete(t, at)
			}
		}
	}
}
