// Package model is what an API server is expected to do with random intents: an oracle for
// applies, conflicts and what is settled.
package model

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Dice makes the random part of a test. The same seed gives the same steps.
type Dice struct{ *rand.Rand }

// NewDice returns the dice of a seed.
func NewDice(seed, stream uint64) Dice { return Dice{rand.New(rand.NewPCG(seed, stream))} }

// Chance is true with a probability.
func (d Dice) Chance(p float64) bool { return d.Float64() < p }

// Pick returns one of some values.
func Pick[T any](d Dice, from []T) T { return from[d.IntN(len(from))] }

// Subresource is what a write goes through: the object itself most often.
func (d Dice) Subresource(s *Shape) string {
	if s.Fields["status"] != nil && d.Chance(0.25) {
		return "status"
	}
	return ""
}

// Config is a random configuration of a kind: what a manager might apply through a
// subresource. It has no empty containers.
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

// value is a random value, not ok when it would be an empty container. Of what a
// container can hold, the share given is there.
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

// items is a random associative list: for some of the combinations of its keys an
// item. A key with a default is left out now and then.
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
			if item[key] == value && d.Chance(0.5) {
				delete(item, key)
			}
		}
		items = append(items, item)
	}
	return items
}

// Edited is a tree after some random changes of somebody who has read it. The
// fields of keep stay.
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

// pruned is a random small part of a configuration.
func (d Dice) pruned(config Tree) Tree {
	chosen := Pick(d, slices.Sorted(maps.Keys(config)))
	return config.Only(func(path string) bool {
		return Within(path, chosen) || config.isKey(path) && Within(chosen, config[path].parent)
	})
}

// isKey reports whether a field is one by which a list item is known.
func (t Tree) isKey(path string) bool {
	n := t[path]
	holder, known := t[n.parent]
	if !known || holder.parent == "-" {
		return false
	}
	list := t[holder.parent].shape
	return list != nil && list.Kind == ListShape && slices.Contains(list.Keys, n.name)
}

// canLose reports whether a field may be removed: no key of a list item, and nothing
// of keep.
func (t Tree) canLose(top string, keep Fields) bool {
	for path := range keep {
		if Within(path, top) {
			return false
		}
	}
	return top != "" && !t.isKey(top)
}

// DropEmpty removes containers that hold nothing, again and again.
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
