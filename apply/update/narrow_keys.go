package update

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// schemaOf returns a function that returns the API server's schema of a kind. That function is
// called only if mutate changed a list item whose live form the Go type does not show completely.
func (u *Updater) schemaOf(ctx context.Context, kind schema.GroupVersionKind) func() (*typed.TypedValue, error) {
	return func() (*typed.TypedValue, error) {
		if u.config.Schemas == nil {
			return nil, errNoSchemas
		}
		converter, err := u.config.Schemas(ctx, kind.GroupVersion())
		if err != nil {
			return nil, err
		}
		return emptyOf(converter, kind)
	}
}

// emptyOf returns an empty typed object of a kind, from which the schema of the kind can be read.
func emptyOf(converter managedfields.TypeConverter, kind schema.GroupVersionKind) (*typed.TypedValue, error) {
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	return converter.ObjectToTyped(empty)
}

// listKeys are the key fields of a list's items. standard is the default that the API server sets
// if an item lacks the key field.
type listKeys []struct {
	name     string
	standard any
}

// keysOf returns the key fields of a list from the API server's schema.
func (n narrowing) keysOf(list *place) (keys listKeys, err error) {
	kind, err := n.schema()
	if err != nil {
		return nil, err
	}
	atom, _ := list.in(kind)
	if atom.List == nil || atom.List.ElementRelationship != smd.Associative || len(atom.List.Keys) == 0 {
		return nil, errNoKeys
	}
	item, _ := kind.Schema().Resolve(atom.List.ElementType)
	keys = make(listKeys, len(atom.List.Keys))
	for i, name := range atom.List.Keys {
		keys[i].name = name
		if item.Map != nil {
			field, _ := item.Map.FindField(name)
			keys[i].standard = field.Default
		}
	}
	return keys, nil
}

// in returns the schema of a place within an object of a kind. ok is false if the schema does not
// have the place.
func (p *place) in(kind *typed.TypedValue) (atom smd.Atom, ok bool) {
	if p.parent == nil {
		return kind.Schema().Resolve(kind.TypeRef())
	}
	parent, ok := p.parent.in(kind)
	switch {
	case !ok:
	case p.name == "" && parent.List != nil:
		return kind.Schema().Resolve(parent.List.ElementType)
	case p.name != "" && parent.Map != nil:
		if field, known := parent.Map.FindField(p.name); known {
			return kind.Schema().Resolve(field.Type)
		}
		return kind.Schema().Resolve(parent.Map.ElementType)
	}
	return smd.Atom{}, false
}

// index returns the index of each item by the text of its keys. ok is false if two items have the
// same keys.
func (k listKeys) index(items []any) (at map[string]int, ok bool) {
	at = map[string]int{}
	for i, item := range items {
		content, _ := item.(map[string]any)
		values := make([]any, len(k))
		for n, key := range k {
			values[n] = key.standard
			if value, has := content[key.name]; has {
				values[n] = value
			}
		}
		at[text(values)] = i
	}
	return at, len(at) == len(items)
}
