package steady

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// elementOf returns the value to which one step of a path leads and, in a list, its index: a
// new order is a change.
func elementOf(of value.Value, element fieldpath.PathElement) (at value.Value, index int, found bool) {
	switch {
	case of == nil:
		return nil, 0, false
	case element.FieldName != nil:
		if !of.IsMap() {
			return nil, 0, false
		}
		at, found = of.AsMap().Get(*element.FieldName)
		return at, 0, found
	case !of.IsList():
		return nil, 0, false
	}
	items := of.AsList()
	for i := range items.Length() {
		if item := items.At(i); isElement(item, i, element) {
			return item, i, true
		}
	}
	return nil, 0, false
}

func isElement(item value.Value, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return index == *element.Index
	case element.Value != nil:
		return value.Equals(item, *element.Value)
	case !item.IsMap():
		return false
	}
	fields := item.AsMap()
	for _, key := range *element.Key {
		if at, ok := fields.Get(key.Name); !ok || !value.Equals(at, key.Value) {
			return false
		}
	}
	return true
}

// valueAt returns the value to which a path leads, or nil.
func valueAt(of value.Value, path fieldpath.Path) value.Value {
	for _, element := range path {
		of, _, _ = elementOf(of, element)
	}
	return of
}

// holds returns the number of items of a map or a list; 1 for a scalar, and 0 for null and nil.
func holds(of value.Value) int {
	switch {
	case of == nil || of.IsNull():
		return 0
	case of.IsMap():
		return of.AsMap().Length()
	case of.IsList():
		return of.AsList().Length()
	}
	return 1
}
