package fieldowners

import (
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// naming describes how managed fields identify the items of a list: by the values of key fields, or by the value of the
// item itself if fields is empty.
type naming struct {
	fields   []string // the names of the key fields
	disputed bool     // whether entries disagree about the key fields; no item can be identified then
}

// namingOf returns how the items of a list are identified (by key fields or by value), given the path element of one item.
// ok is false if the element is neither the key nor the value of a list item.
func namingOf(element fieldpath.PathElement) (how naming, ok bool) {
	if element.Key != nil {
		for _, field := range *element.Key {
			how.fields = append(how.fields, field.Name)
		}
	}
	return how, element.Key != nil || element.Value != nil
}

// nameOf returns the path element of an item: its key fields with their values, or its own value. ok is false if the
// item lacks a key field, or if its own value or the value of a key field is not a scalar.
func (n naming) nameOf(item any) (name fieldpath.PathElement, ok bool) {
	if n.disputed {
		return fieldpath.PathElement{}, false
	}
	if len(n.fields) == 0 {
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}, isScalar(v)
	}
	fields, _ := item.(map[string]any)
	var key value.FieldList
	for _, field := range n.fields {
		v := value.NewValueInterface(fields[field])
		if !isScalar(v) {
			return fieldpath.PathElement{}, false
		}
		key = append(key, value.Field{Name: field, Value: v})
	}
	return fieldpath.PathElement{Key: &key}, true
}

func isScalar(v value.Value) bool { return !v.IsNull() && !isComposite(v) }

// namedList finds the items of a list by their path elements.
type namedList struct {
	items  []any
	names  []fieldpath.PathElement // the path elements of the items, without items that have none
	byName map[string]int          // for each path element as text, the index of the first item that has the path element
	odd    []any                   // the items without a path element
	places []int                   // the index in the list of each item in odd
}

func (n naming) list(items []any) namedList {
	l := namedList{items: items, byName: map[string]int{}}
	for i, item := range items {
		name, ok := n.nameOf(item)
		if !ok {
			l.odd, l.places = append(l.odd, item), append(l.places, i)
			continue
		}
		l.names = append(l.names, name)
		if _, has := l.byName[textOf(name)]; !has {
			l.byName[textOf(name)] = i
		}
	}
	return l
}

// isDistinct reports whether each item has a path element, and no two items have the same.
func (l namedList) isDistinct() bool { return len(l.byName) == len(l.items) }

// find returns the index of the item that a path element identifies, or -1 if the list has no such item. It also
// returns -1 for an element that is an index.
func (l namedList) find(name fieldpath.PathElement) int {
	if i, has := l.byName[textOf(name)]; has {
		return i
	}
	if i := indexOf(l.odd, name); i >= 0 && name.Index == nil {
		return l.places[i]
	}
	return -1
}
