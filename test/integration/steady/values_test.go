package steady

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/test/kit/model"
)

// place is where something stands in a value of a shape. Paths are those of a tree.
type place struct {
	path, holder string
	shape        *model.Shape
	key          bool // a field by which a list item is known
	value        any
}

// rewrite gives a value with what edit makes of each place, from the top down. What
// the shape does not know stays, and so does the order of lists.
func rewrite(s *model.Shape, value any, edit func(place) (value any, keep bool)) any {
	rewritten, _ := place{shape: s, value: value, holder: "-"}.rewrite(edit)
	return rewritten
}

func (p place) rewrite(edit func(place) (any, bool)) (any, bool) {
	value, keep := edit(p)
	if !keep {
		return nil, false
	}
	switch p.shape.Kind {
	case model.ObjectShape, model.MapShape:
		if fields, ok := value.(map[string]any); ok {
			return p.rewriteFields(fields, nil, edit), true
		}
	case model.ListShape, model.SetShape:
		items, ok := value.([]any)
		if !ok {
			break
		}
		kept := []any{}
		for _, item := range items {
			at := place{path: p.path + p.shape.ItemText(item), holder: p.path, shape: p.shape.Elem, value: item}
			if item, keep = edit(at); !keep {
				continue
			}
			if fields, ok := item.(map[string]any); ok && p.shape.Kind == model.ListShape {
				item = at.rewriteFields(fields, p.shape.Keys, edit)
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
		s := p.shape.Elem
		if p.shape.Kind == model.ObjectShape {
			s = p.shape.Fields[name]
		}
		if s == nil {
			continue
		}
		at := place{path: p.path + model.FieldText(name), holder: p.path, shape: s, key: slices.Contains(keys, name), value: fields[name]}
		if value, keep := at.rewrite(edit); keep {
			kept[name] = value
		} else {
			delete(kept, name)
		}
	}
	return kept
}

// placesIn lists what of a value the shape knows, without the top.
func placesIn(s *model.Shape, value any, want func(place) bool) []place {
	var found []place
	rewrite(s, value, func(p place) (any, bool) {
		if p.path != "" && want(p) {
			found = append(found, p)
		}
		return p.value, true
	})
	return found
}

func isLeafOf(p place) bool { return p.shape.Kind == model.LeafShape && !p.key }

// replaceAt puts another value at a path.
func replaceAt(s *model.Shape, value any, path string, by any) any {
	return rewrite(s, value, func(p place) (any, bool) {
		if p.path == path {
			return by, true
		}
		return p.value, true
	})
}

func removeAt(s *model.Shape, value any, path string) any {
	return rewrite(s, value, func(p place) (any, bool) { return p.value, p.path != path })
}

// partAt keeps what lies at a path and below, with what it takes to reach it.
func partAt(s *model.Shape, value any, path string) any {
	return rewrite(s, value, func(p place) (any, bool) {
		return p.value, model.Within(p.path, path) || model.Within(path, p.path) || p.key && model.Within(path, p.holder)
	})
}

// withoutEmpty removes the containers that hold nothing, and items that are nothing
// but their keys.
func withoutEmpty(s *model.Shape, value any) any {
	for {
		var empty []string
		for _, p := range placesIn(s, value, func(p place) bool { return p.shape.Kind != model.LeafShape }) {
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
func graft(s *model.Shape, onto, from any) any {
	switch s.Kind {
	case model.ObjectShape, model.MapShape:
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
			elem := s.Elem
			if s.Kind == model.ObjectShape {
				elem = s.Fields[name]
			}
			if elem == nil {
				elem = &model.Shape{}
			}
			merged[name] = graft(elem, merged[name], value)
		}
		return merged
	case model.ListShape, model.SetShape:
		return graftItems(s, onto, from)
	}
	return from
}

func graftItems(s *model.Shape, onto, from any) any {
	old, _ := onto.([]any)
	items, ok := from.([]any)
	if !ok {
		return from
	}
	merged := slices.Clone(old)
	for _, item := range items {
		same := func(other any) bool { return s.ItemText(other) == s.ItemText(item) }
		if at := slices.IndexFunc(merged, same); at >= 0 {
			merged[at] = graft(s.Elem, merged[at], item)
		} else {
			merged = append(merged, item)
		}
	}
	return merged
}

// another is a value for a leaf other than the one it has, if there is any.
func another(d model.Dice, p place) any {
	var others []any
	for _, sample := range p.shape.Samples {
		if !sameJSON(sample, p.value) {
			others = append(others, sample)
		}
	}
	if len(others) == 0 {
		return p.value
	}
	return runtime.DeepCopyJSONValue(model.Pick(d, others))
}

// reordered shuffles the lists whose items are known by their keys.
func reordered(d model.Dice, s *model.Shape, value any) any {
	return rewrite(s, value, func(p place) (any, bool) {
		items, ok := p.value.([]any)
		if !ok || p.shape.Kind != model.ListShape && p.shape.Kind != model.SetShape {
			return p.value, true
		}
		items = slices.Clone(items)
		d.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
		return items, true
	})
}

// part is a random small part of a value, or nil.
func part(d model.Dice, s *model.Shape, value any) any {
	places := placesIn(s, value, isLeafOf)
	if len(places) == 0 {
		return nil
	}
	return partAt(s, value, model.Pick(d, places).path)
}

// otherwise is a part of a value with other values, or nil.
func otherwise(d model.Dice, s *model.Shape, value any) any {
	places := placesIn(s, value, func(p place) bool { return isLeafOf(p) && !sameJSON(another(d, p), p.value) })
	if len(places) == 0 {
		return nil
	}
	at := model.Pick(d, places)
	return replaceAt(s, partAt(s, value, at.path), at.path, another(d, at))
}

// sameTexts are the leaves of a value that have another text.
func sameTexts(s *model.Shape, value any) []place {
	return placesIn(s, value, func(p place) bool {
		text, ok := p.value.(string)
		return ok && isLeafOf(p) && oneText[text] != ""
	})
}
