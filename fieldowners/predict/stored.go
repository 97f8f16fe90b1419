package predict

import (
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners"
)

// stored returns a copy of a merged object as the server stores it, as far as that is known.
func (q *question) stored(merged any) any {
	result := runtime.DeepCopyJSONValue(merged)
	q.root.lists(result, nil, (*fieldType).fillKeys)
	q.emptied(q.root, result, nil)
	return result
}

// fillKeys adds to items, in place, the defaults of absent key fields.
func (p *fieldType) fillKeys(_ fieldpath.Path, items []any) {
	if !p.hasItems() {
		return
	}
	for _, item := range items {
		fields, isMap := item.(map[string]any)
		for name, v := range p.defaults {
			if _, has := fields[name]; isMap && !has && v != nil {
				fields[name] = v
			}
		}
	}
}

// emptied replaces, in place, a null that structured-merge-diff leaves of a map or list without
// content by an empty one. The server stores either or nothing.
func (q *question) emptied(p *fieldType, v any, at fieldpath.Path) {
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			below := append(at.Copy(), fieldpath.PathElement{FieldName: &name})
			if child == nil {
				v[name] = q.emptyAt(fieldowners.PathOf(below))
			} else {
				q.emptied(p.field(name), child, below)
			}
		}
	case []any:
		for _, item := range v {
			if element, ok := p.nameOf(item); ok && p.hasItems() {
				q.emptied(p.items(), item, append(at.Copy(), element))
			}
		}
	}
}

// emptyAt returns the empty value for a null: null itself if the intent has one.
func (q *question) emptyAt(path fieldowners.Path) any {
	if wanted, listed := path.Value(q.intent); listed && wanted == nil {
		return nil
	}
	was, _ := path.Value(objectOrNil(q.live))
	switch was.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	}
	return nil
}
