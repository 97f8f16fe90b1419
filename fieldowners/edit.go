package fieldowners

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Nearest returns the path itself if an unstructured object has the field. If a parent of the field is null or a
// scalar, Nearest returns the path of this parent. In all other cases ok is false.
func (p Path) Nearest(object any) (nearest Path, ok bool) { return p.nearest(object, child) }

func (p Path) nearest(object any, child childOf) (nearest Path, ok bool) {
	at := object
	for i, element := range p.elements {
		found, has := child(at, element)
		switch {
		case has:
			at = found
		case i > 0 && !isContainer(at):
			return Path{elements: p.elements[:i].Copy()}, true
		default:
			return Path{}, false
		}
	}
	return p, true
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// Set replaces the field's value in an unstructured object, in place, by a deep copy of v. It
// returns false and changes nothing if the object does not have the field.
func (p Path) Set(object, v any) bool {
	if _, has := p.Value(object); !has || p.IsRoot() {
		return false
	}
	last := len(p.elements) - 1
	parent, _ := Path{elements: p.elements[:last]}.Value(object)
	put(parent, p.elements[last], runtime.DeepCopyJSONValue(v))
	return true
}

// Cut removes the field from an unstructured object, in place. Then it removes parents that have become empty: maps
// and lists without content, and list items that have only their key fields. An empty parent stays if keep returns
// true for its path. If keep is nil, no empty parent stays. Cut reports whether the object had the field.
func (p Path) Cut(object map[string]any, keep func(parent Path) bool) bool {
	if _, has := p.Value(object); !has || p.IsRoot() {
		return false
	}
	cut(object, p.elements, 0, keep)
	return true
}

// cut removes the field at path from the given parent, which is the value at path[:depth]. It returns the changed
// parent and reports whether the parent is now empty.
func cut(parent any, path fieldpath.Path, depth int, keep func(Path) bool) (rest any, empty bool) {
	element := path[depth]
	if depth < len(path)-1 {
		below, _ := child(parent, element)
		below, empty := cut(below, path, depth+1, keep)
		empty = empty || holdsKeysOnly(below, element)
		if !empty || keep != nil && keep(Path{elements: path[:depth+1].Copy()}) {
			put(parent, element, below)
			return parent, false
		}
	}
	switch parent := parent.(type) {
	case map[string]any:
		delete(parent, *element.FieldName)
		return parent, len(parent) == 0
	case []any:
		at := indexOf(parent, element)
		rest := slices.Delete(parent, at, at+1)
		return rest, len(rest) == 0
	}
	return parent, false
}

// put replaces the value of an existing field of a map, or of an existing item of a list.
func put(parent any, element fieldpath.PathElement, v any) {
	switch parent := parent.(type) {
	case map[string]any:
		parent[*element.FieldName] = v
	case []any:
		parent[indexOf(parent, element)] = v
	}
}

// indexOf returns the index of the list item that a path element identifies. The list must have the item.
func indexOf(items []any, element fieldpath.PathElement) int {
	if element.Index != nil {
		return *element.Index
	}
	found, _ := child(items, element)
	return slices.IndexFunc(items, func(item any) bool { return reflect.DeepEqual(item, found) }) // the first if several are equal
}

func holdsKeysOnly(item any, element fieldpath.PathElement) bool {
	if element.Key == nil {
		return false
	}
	fields, _ := item.(map[string]any) // only a map has a key
	for name := range fields {
		if !slices.ContainsFunc(*element.Key, func(key value.Field) bool { return key.Name == name }) {
			return false
		}
	}
	return true
}
