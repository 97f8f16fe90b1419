package integration

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// place is where something stands in a value of a shape. Paths are those of a tree.
type place struct {
	path, holder string
	shape        *modelShape
	key          bool // a field by which a list item is known
	value        any
}

// rewrite gives a value with what edit makes of each place, from the top down. What
// the shape does not know stays, and so does the order of lists.
func rewrite(s *modelShape, value any, edit func(place) (value any, keep bool)) any {
	rewritten, _ := place{shape: s, value: value, holder: "-"}.rewrite(edit)
	return rewritten
}

func (p place) rewrite(edit func(place) (any, bool)) (any, bool) {
	value, keep := edit(p)
	if !keep {
		return nil, false
	}
	switch p.shape.kind {
	case objectShape, mapShape:
		if fields, ok := value.(map[string]any); ok {
			return p.rewriteFields(fields, nil, edit), true
		}
	case listShape, setShape:
		items, ok := value.([]any)
		if !ok {
			break
		}
		kept := []any{}
		for _, item := range items {
			at := place{path: p.path + p.shape.itemText(item), holder: p.path, shape: p.shape.elem, value: item}
			if item, keep = edit(at); !keep {
				continue
			}
			if fields, ok := item.(map[string]any); ok && p.shape.kind == listShape {
				item = at.rewriteFields(fields, p.shape.keys, edit)
			}
			kept = append(kept, item)
		}
		return kept, true
	}
	return value, true
}

func (p place) rewriteFields(fields map[string]any, keys []string, edit func(place) (any, bool)) map[string]any {
	kept := maps.Clone(fields)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		s := p.shape.elem
		if p.shape.kind == objectShape {
			s = p.shape.fields[name]
		}
		if s == nil {
			continue
		}
		at := place{path: p.path + fieldText(name), holder: p.path, shape: s, key: slices.Contains(keys, name), value: fields[name]}
		if value, keep := at.rewrite(edit); keep {
			kept[name] = value
		} else {
			delete(kept, name)
		}
	}
	return kept
}

// placesIn lists what of a value the shape knows, without the top.
func placesIn(s *modelShape, value any, want func(place) bool) []place {
	var found []place
	rewrite(s, value, func(p place) (any, bool) {
		if p.path != "" && want(p) {
			found = append(found, p)
		}
		return p.value, true
	})
	return found
}

func isLeafOf(p place) bool { return p.shape.kind == leafShape && !p.key }

// replaceAt puts another value at a path.
func replaceAt(s *modelShape, value any, path string, by any) any {
	return rewrite(s, value, func(p place) (any, bool) {
		if p.path == path {
			return by, true
		}
		return p.value, true
	})
}

func removeAt(s *modelShape, value any, path string) any {
	return rewrite(s, value, func(p place) (any, bool) { return p.value, p.path != path })
}

// partAt keeps what lies at a path and below, with what it takes to reach it.
func partAt(s *modelShape, value any, path string) any {
	return rewrite(s, value, func(p place) (any, bool) {
		return p.value, within(p.path, path) || within(path, p.path) || p.key && within(path, p.holder)
	})
}

// withoutEmpty removes the containers that hold nothing, and items that are nothing
// but their keys.
func withoutEmpty(s *modelShape, value any) any {
	for {
		var empty []string
		for _, p := range placesIn(s, value, func(p place) bool { return p.shape.kind != leafShape }) {
			if fields, ok := p.value.(map[string]any); ok && len(fields) == 0 {
				empty = append(empty, p.path)
			}
			if items, ok := p.value.([]any); ok && len(items) == 0 {
				empty = append(empty, p.path)
			}
		}
		if len(empty) == 0 {
			return value
		}
		value = rewrite(s, value, func(p place) (any, bool) { return p.value, !slices.Contains(empty, p.path) })
	}
}

// graft puts one value over another one.
func graft(s *modelShape, onto, from any) any {
	switch s.kind {
	case objectShape, mapShape:
		old, _ := onto.(map[string]any)
		fields, ok := from.(map[string]any)
		if !ok {
			return from
		}
		merged := maps.Clone(old)
		if merged == nil {
			merged = map[string]any{}
		}
		for name, value := range fields {
			elem := s.elem
			if s.kind == objectShape {
				elem = s.fields[name]
			}
			if elem == nil {
				elem = &modelShape{}
			}
			merged[name] = graft(elem, merged[name], value)
		}
		return merged
	case listShape, setShape:
		return graftItems(s, onto, from)
	}
	return from
}

func graftItems(s *modelShape, onto, from any) any {
	old, _ := onto.([]any)
	items, ok := from.([]any)
	if !ok {
		return from
	}
	merged := slices.Clone(old)
	for _, item := range items {
		same := func(other any) bool { return s.itemText(other) == s.itemText(item) }
		if at := slices.IndexFunc(merged, same); at >= 0 {
			merged[at] = graft(s.elem, merged[at], item)
		} else {
			merged = append(merged, item)
		}
	}
	return merged
}

// another is a value for a leaf other than the one it has, if there is any.
func (d dice) another(p place) any {
	var others []any
	for _, sample := range p.shape.samples {
		if !sameJSON(sample, p.value) {
			others = append(others, sample)
		}
	}
	if len(others) == 0 {
		return p.value
	}
	return runtime.DeepCopyJSONValue(pick(d, others))
}

// reordered shuffles the lists whose items are known by their keys.
func (d dice) reordered(s *modelShape, value any) any {
	return rewrite(s, value, func(p place) (any, bool) {
		items, ok := p.value.([]any)
		if !ok || p.shape.kind != listShape && p.shape.kind != setShape {
			return p.value, true
		}
		items = slices.Clone(items)
		d.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items, true
	})
}

// part is a random small part of a value, or nil.
func (d dice) part(s *modelShape, value any) any {
	places := placesIn(s, value, isLeafOf)
	if len(places) == 0 {
		return nil
	}
	return partAt(s, value, pick(d, places).path)
}

// otherwise is a part of a value with other values, or nil.
func (d dice) otherwise(s *modelShape, value any) any {
	places := placesIn(s, value, func(p place) bool { return isLeafOf(p) && !sameJSON(d.another(p), p.value) })
	if len(places) == 0 {
		return nil
	}
	at := pick(d, places)
	return replaceAt(s, partAt(s, value, at.path), at.path, d.another(at))
}

// sameTexts are the leaves of a value that have another text.
func sameTexts(s *modelShape, value any) []place {
	return placesIn(s, value, func(p place) bool {
		text, ok := p.value.(string)
		return ok && isLeafOf(p) && oneText[text] != ""
	})
}
