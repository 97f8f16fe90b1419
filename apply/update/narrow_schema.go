package update

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/gotypes"
)

// goType is the Go type of a value in an object. Its Type is nil if the Go type is not known, as for the values in an
// unstructured object.
type goType struct{ reflect.Type }

func (t goType) pointed() reflect.Type {
	at := t.Type
	for at != nil && at.Kind() == reflect.Pointer {
		at = at.Elem()
	}
	return at
}

// isStruct reports whether the type is a struct itself, and not a pointer to a struct, which could be nil.
func (t goType) isStruct() bool { return t.Type != nil && t.Type.Kind() == reflect.Struct }

// field returns the type of the field with this JSON name in a struct, or the type of the values of a map.
func (t goType) field(name string) goType {
	at := t.pointed()
	switch {
	case at == nil:
	case at.Kind() == reflect.Map:
		return goType{at.Elem()}
	case at.Kind() == reflect.Struct:
		return goType{gotypes.FieldType(at, name)}
	}
	return goType{}
}

func (t goType) item() goType {
	if at := t.pointed(); at != nil && at.Kind() == reflect.Slice {
		return goType{at.Elem()}
	}
	return goType{}
}

// sameQuantity reports whether the type is resource.Quantity and both values denote the same amount, such as 1k and
// 1e3.
func (t goType) sameQuantity(a, b any) bool {
	first, _ := a.(string) // "" is no quantity
	second, _ := b.(string)
	return t.pointed() == reflect.TypeFor[resource.Quantity]() && content.SameQuantity(first, second)
}

// place is the position of a value in an object, with the Go type of the value.
type place struct {
	goType

	parent *place // the map or list that contains the value; nil for the object itself
	name   string // the name of the field; empty for a list item
	index  int    // the index of the list item
}

func (p *place) field(name string) *place {
	return &place{goType: p.goType.field(name), parent: p, name: name}
}

func (p *place) item(index int) *place {
	return &place{goType: p.goType.item(), parent: p, index: index}
}

// String returns the path of the place, such as .spec.steps[1].size.
func (p *place) String() string {
	switch {
	case p.parent == nil:
		return ""
	case p.name == "":
		return fmt.Sprintf("%v[%d]", p.parent, p.index)
	}
	return fmt.Sprintf("%v.%s", p.parent, p.name)
}

// unknownTo searches the live value for a field that the Go type lacks. It returns the place of the first such field,
// or nil. shown is the JSON that the Go type writes for the same value. A field that is not in shown may still belong
// to the Go type, because the Go type may omit zero values.
func unknownTo(at *place, live, shown any) *place {
	switch live := live.(type) {
	case map[string]any:
		shown, _ := shown.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(live)) {
			field := at.field(name)
			if _, written := shown[name]; !written && field.Type == nil {
				return field
			}
			if found := unknownTo(field, live[name], shown[name]); found != nil {
				return found
			}
		}
	case []any:
		shown, _ := shown.([]any)
		for i := range live {
			var item any
			if len(shown) == len(live) {
				item = shown[i]
			}
			if found := unknownTo(at.item(i), live[i], item); found != nil {
				return found
			}
		}
	}
	return nil
}

// refuse returns an error if one of the selected live items has a field that the Go type lacks, because the write could
// drop this field. items contains the indices of the selected items. The argument why says why the
// selected items cannot be matched with the items of the list after mutate.
func (n narrowing) refuse(list *place, live, shown []any, items []int, why error) error {
	for _, j := range items {
		var item any
		if len(shown) > j {
			item = shown[j]
		}
		if field := unknownTo(list.item(j), live[j], item); field != nil {
			return fmt.Errorf("%v: nothing was written: %w: the write could drop %s, which %v does not have, because an item of %s "+
				"was changed or removed and cannot be matched with a live item (%w); pass an *unstructured.Unstructured, or add the field to the Go type",
				n.object, ErrUnknownField, field, n.goType, list, why)
		}
	}
	return nil
}

// schemaOf returns a function that returns the API server's schema of a kind. The function is called only if mutate
// changed a list item that the Go type does not show completely.
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

// emptyOf returns an empty value with the schema of a kind.
func emptyOf(converter managedfields.TypeConverter, kind schema.GroupVersionKind) (*typed.TypedValue, error) {
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	return converter.ObjectToTyped(empty)
}

// listKeys are the key fields of the items of a list. standard is the default value that the API server sets in an item
// without the key field.
type listKeys []struct {
	name     string
	standard any
}

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

// in returns the type of the value at the place, according to the API server's schema of the kind. ok is false if the
// schema does not contain the place.
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

// index maps the key values of each list item, as text, to the index of the item. ok is false if two items have the
// same key values.
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
