package integration

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"
)

// dice makes the random part of a test. The same seed gives the same steps.
type dice struct{ *rand.Rand }

func newDice(seed, stream uint64) dice { return dice{rand.New(rand.NewPCG(seed, stream))} }

// modelSeed is a new one for each run, or COAPPLY_SEED to see a run again.
func modelSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("COAPPLY_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("COAPPLY_SEED: %v", err)
		}
	}
	t.Logf("COAPPLY_SEED=%d", seed)
	return seed
}

func (d dice) chance(p float64) bool { return d.Float64() < p }

func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// subresource is what a write goes through: the object itself most often.
func (d dice) subresource(s *modelShape) string {
	if s.fields["status"] != nil && d.chance(0.25) {
		return "status"
	}
	return ""
}

// config is a random configuration of a kind: what a manager might apply through a
// subresource. It has no empty containers.
func (d dice) config(s *modelShape, subresource string) tree {
	for {
		value, ok := d.value(s, 0.45)
		if !ok {
			continue
		}
		t := flatten(s, value).only(func(path string) bool { return reaches(subresource, path) })
		if len(t) > 1 {
			return t
		}
	}
}

// value is a random value, not ok when it would be an empty container. Of what a
// container can hold, the share given is there.
func (d dice) value(s *modelShape, share float64) (any, bool) {
	switch s.kind {
	case objectShape:
		value := d.object(s, share)
		return value, len(value) > 0
	case mapShape:
		value := map[string]any{}
		for _, name := range s.names {
			if elem, ok := d.value(s.elem, share); ok && d.chance(share) {
				value[name] = elem
			}
		}
		return value, len(value) > 0
	case listShape:
		items := d.items(s, share)
		return items, len(items) > 0
	case setShape:
		var items []any
		for _, item := range s.elem.samples {
			if d.chance(share) {
				items = append(items, item)
			}
		}
		d.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items, len(items) > 0
	}
	return pick(d, s.samples), true
}

func (d dice) object(s *modelShape, share float64) map[string]any {
	value := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if field, ok := d.value(s.fields[name], share); ok && d.chance(share) {
			value[name] = field
		}
	}
	return value
}

// items is a random associative list: for some of the combinations of its keys an
// item. A key with a default is left out now and then.
func (d dice) items(s *modelShape, share float64) []any {
	combinations := []map[string]any{{}}
	for _, key := range s.keys {
		var longer []map[string]any
		for _, combination := range combinations {
			for _, sample := range s.elem.fields[key].samples {
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
		if !d.chance(share) {
			continue
		}
		item := d.object(s.elem, share)
		maps.Copy(item, combination)
		for key, value := range s.elem.defaults {
			if item[key] == value && d.chance(0.5) {
				delete(item, key)
			}
		}
		items = append(items, item)
	}
	return items
}

// edited is a tree after some random changes of somebody who has read it. The
// fields of keep stay.
func (d dice) edited(t tree, s *modelShape, subresource string, keep fields) tree {
	edited := maps.Clone(t)
	for range 1 + d.IntN(3) {
		if d.chance(0.5) {
			maps.Copy(edited, d.pruned(d.config(s, subresource)))
			continue
		}
		top := pick(d, slices.Sorted(maps.Keys(edited)))
		if reaches(subresource, top) && edited.canLose(top, keep) {
			edited.cut(top)
			if d.chance(0.7) {
				edited.dropEmpty()
			}
		}
	}
	return edited
}

// pruned is a random small part of a configuration.
func (d dice) pruned(config tree) tree {
	chosen := pick(d, slices.Sorted(maps.Keys(config)))
	return config.only(func(path string) bool {
		return within(path, chosen) || config.isKey(path) && within(chosen, config[path].parent)
	})
}

// isKey tells whether a field is one by which a list item is known.
func (t tree) isKey(path string) bool {
	n := t[path]
	holder, known := t[n.parent]
	if !known || holder.parent == "-" {
		return false
	}
	list := t[holder.parent].shape
	return list != nil && list.kind == listShape && slices.Contains(list.keys, n.name)
}

// canLose tells whether a field may be removed: no key of a list item, and nothing
// of keep.
func (t tree) canLose(top string, keep fields) bool {
	for path := range keep {
		if within(path, top) {
			return false
		}
	}
	return top != "" && !t.isKey(top)
}

// dropEmpty removes containers that hold nothing, again and again.
func (t tree) dropEmpty() {
	for before := -1; before != len(t); {
		before = len(t)
		for at, n := range maps.Clone(t) {
			if at != "" && n.shape.kind != leafShape && len(t.children(at)) == 0 {
				delete(t, at)
			}
		}
	}
}
