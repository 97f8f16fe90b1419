package fieldowners

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Nearest returns the path itself if an unstructured object has the field. If a parent of the field is null or a
// scalar, Nearest returns the path of this parent. In all other cases ok is false.
func (p Path) Nearest(object any) (nearest Path, ok bool) { return p.nearest(object, child) }

func (p Path) nearest(object any, child func(any, fieldpath.PathElement) (any, bool)) (nearest Path, ok bool) {
	at := object
	for i, element := range p.elements {
		found, has := child(at, element)
		switch {
		case has:
			at = found
		case i > 0 && !isComposite(value.NewValueInterface(at)):
			return Path{elements: p.elements[:i].Copy()}, true
		default:
			return Path{}, false
		}
	}
	return p, true
}

// Set replaces the field's value in an unstructured object, in place, by a deep copy of v. It returns false and changes
// nothing if the object does not have the field.
func (p Path) Set(object, v any) bool {
	if _, has := p.Value(object); !has || p.IsRoot() {
		return false
	}
	p.put(object, runtime.DeepCopyJSONValue(v))
	return true
}

// put replaces the value of an existing field.
func (p Path) put(object, v any) {
	parent, _ := p.Parent().Value(object)
	switch last := p.elements[p.Len()-1]; parent := parent.(type) {
	case map[string]any:
		parent[*last.FieldName] = v
	case []any:
		parent[indexOf(parent, last)] = v
	}
}

// Cut removes the field from an unstructured object, in place. Then it removes parents that have become empty: maps
// and lists without content, and list items that have only their key fields. An empty parent stays if keep returns
// true for its path. If keep is nil, no empty parent stays. Cut reports whether the object had the field.
func (p Path) Cut(object map[string]any, keep func(parent Path) bool) bool {
	if _, has := p.Value(object); !has || p.IsRoot() {
		return false
	}
	for p.remove(object) && p.Len() > 1 && (keep == nil || !keep(p.Parent())) {
		p = p.Parent()
	}
	return true
}

// remove removes an existing field, and reports whether its parent is now empty.
func (p Path) remove(object map[string]any) (empty bool) {
	above, last := p.Parent(), p.elements[p.Len()-1]
	parent, _ := above.Value(object)
	switch parent := parent.(type) {
	case map[string]any:
		delete(parent, *last.FieldName)
		for name := range parent {
			if above.IsRoot() || !isKeyOf(above.elements[above.Len()-1], name) {
				return false
			}
		}
		return true
	case []any:
		i := indexOf(parent, last)
		rest := slices.Delete(parent, i, i+1)
		above.put(object, rest)
		return len(rest) == 0
	}
	return false
}

// isKeyOf reports whether the path element is the key of a list item, and has a key field with the given name.
func isKeyOf(element fieldpath.PathElement, name string) bool {
	return element.Key != nil && slices.ContainsFunc(*element.Key, func(key value.Field) bool { return key.Name == name })
}
