// Package items names list items as managed fields do: by key fields, or by the value of a scalar item.
//
// # Contract
//
//  1. NamingOf returns the Naming of a list for the path element of one of its items. It needs no schema.
//  2. An item that lacks a key field has no name. NameAll fails if an item has no name or two items have the same
//     name.
//
// Valid:
//
//	how, ok := items.NamingOf(element)
//	name, ok := how.NameOf(map[string]any{"name": "web"})
//
// Invalid: items of an atomic list, which have indexes and no names. NamingOf returns false for an index.
package items

import (
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"

	"coapply.dev/fieldowners/internal/notation"
)

// Naming describes how the items of a list are named in managed fields: by the values of their key
// fields, or by the value of the item itself if Fields is empty.
type Naming struct {
	Fields   []string // the names of the key fields
	Disputed bool     // whether entries disagree about the key fields; the items then have no names
}

// NamingOf returns the Naming of the list to which an item with the given path element belongs. ok is false if the
// element is neither the key nor the value of a list item.
func NamingOf(element fieldpath.PathElement) (how Naming, ok bool) {
	if element.Key != nil {
		for _, field := range *element.Key {
			how.Fields = append(how.Fields, field.Name)
		}
	}
	return how, element.Key != nil || element.Value != nil
}

// NameAll returns the names of all items of a list. ok is false if an item has no name, or if two
// items have the same name.
func (n Naming) NameAll(items []any) (names []fieldpath.PathElement, ok bool) {
	seen := map[string]bool{}
	for _, item := range items {
		name, ok := n.NameOf(item)
		if !ok || seen[notation.Text(name)] {
			return nil, false
		}
		seen[notation.Text(name)] = true
		names = append(names, name)
	}
	return names, true
}

// NameOf returns the name of one item: its key fields with their values, or its own value. ok is false if the item
// lacks a key field, or if its own value or the value of a key field is not a scalar.
func (n Naming) NameOf(item any) (name fieldpath.PathElement, ok bool) {
	if n.Disputed {
		return fieldpath.PathElement{}, false
	}
	if len(n.Fields) == 0 {
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}, isScalar(item)
	}
	fields, _ := item.(map[string]any)
	var key value.FieldList
	for _, field := range n.Fields {
		if !isScalar(fields[field]) {
			return fieldpath.PathElement{}, false
		}
		key = append(key, value.Field{Name: field, Value: value.NewValueInterface(fields[field])})
	}
	return fieldpath.PathElement{Key: &key}, true
}

func isScalar(v any) bool {
	switch v.(type) {
	case string, bool, int64, float64:
		return true
	}
	return false
}
