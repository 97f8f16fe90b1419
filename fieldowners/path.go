package fieldowners

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Path identifies one field of an object. The zero value is the whole object. A Path is immutable.
type Path struct {
	elements fieldpath.Path
}

// String returns the path in the notation that ParsePath reads, such as .spec.containers[name="web"].image. The root
// is "". Invisible characters are written as JSON escapes, so that the text cannot control a terminal.
func (p Path) String() string {
	var b strings.Builder
	for _, element := range p.elements {
		b.WriteString(textOf(element))
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler. It returns the same text as String.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. The error is a *PathError.
func (p *Path) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePath(string(text))
	return err
}

// ServerString returns the path in the notation of the API server, as in the causes of a conflict. This notation does
// not quote map keys and is ambiguous: compare such texts, but never parse them.
func (p Path) ServerString() string { return p.elements.String() }

// IsRoot reports whether the path is the root, which means the whole object.
func (p Path) IsRoot() bool { return len(p.elements) == 0 }

// Equal reports whether both paths name the same field.
func (p Path) Equal(other Path) bool { return p.elements.Equals(other.elements) }

// Compare orders paths. The result is negative if p sorts before other, 0 if the paths are equal, and otherwise
// positive.
func (p Path) Compare(other Path) int { return p.elements.Compare(other.elements) }

// HasPrefix reports whether the path is equal to, or below, the given prefix.
func (p Path) HasPrefix(prefix Path) bool {
	n := len(prefix.elements)
	return n <= len(p.elements) && p.elements[:n].Equals(prefix.elements)
}

// Parent returns the path without its last element. The parent of the root is the root.
func (p Path) Parent() Path {
	return Path{elements: p.elements[:max(len(p.elements)-1, 0)]}
}

// IsKeyField reports whether the path ends at a key field of a list item.
func (p Path) IsKeyField() bool {
	n := len(p.elements)
	return n >= 2 && p.elements[n-1].FieldName != nil && isKeyOf(p.elements[n-2], *p.elements[n-1].FieldName)
}

// Len returns the number of elements of the path.
func (p Path) Len() int { return len(p.elements) }

// Element is one element of a path: the name of a field, the key of a map, or a list item.
type Element struct {
	// Text is the element in the notation of Path.String: .spec, ["a.b/c"], [name="web"].
	Text string
	// Field is the name of a field or the key of a map. It is nil for a list item.
	Field *string
	// Keys are the names of the key fields if the element is an item of an associative list.
	Keys []string
	// Index reports whether the element identifies a list item by its index.
	Index bool
}

// Elements returns the elements of the path, starting at the root.
func (p Path) Elements() []Element {
	all := make([]Element, len(p.elements))
	for i, element := range p.elements {
		how, _ := namingOf(element)
		all[i] = Element{Text: textOf(element), Keys: how.fields, Index: element.Index != nil}
		if element.FieldName != nil {
			all[i].Field = new(*element.FieldName)
		}
	}
	return all
}

// Keys returns the keys under which managed fields have the path, from the outermost to the innermost: f:NAME,
// k:{KEYS}, v:VALUE or i:INDEX, the format of metav1.FieldsV1.
func (p Path) Keys() []string {
	keys := make([]string, len(p.elements))
	for i, element := range p.elements {
		keys[i], _ = fieldpath.SerializePathElement(element) // fails for elements without a name, which no path has
	}
	return keys
}

// Value returns the field's value in an unstructured object. The value is not copied. ok is false if the object does not
// have the field.
//
// An item of an associative list is found by its key fields. In an apply configuration, an item may lack a key field
// that the API server defaults, such as the protocol of a port. Such an item is found if it is the only item whose other
// key fields match.
func (p Path) Value(object any) (found any, ok bool) { return p.value(object, child) }

func (p Path) value(object any, child func(any, fieldpath.PathElement) (any, bool)) (found any, ok bool) {
	found = object
	for _, element := range p.elements {
		if found, ok = child(found, element); !ok {
			return nil, false
		}
	}
	return found, true
}

// child returns the field of a map or the item of a list that a path element identifies.
func child(parent any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		fields, _ := parent.(map[string]any)
		found, ok := fields[*element.FieldName]
		return found, ok
	}
	items, _ := parent.([]any)
	if i := indexOf(items, element); i >= 0 {
		return items[i], true
	}
	return nil, false
}

// indexOf returns the index of the list item that a path element identifies, or -1 if there is no such item.
func indexOf(items []any, element fieldpath.PathElement) int {
	switch {
	case element.Key != nil:
		return indexOfKey(items, *element.Key)
	case element.Value != nil:
		return slices.IndexFunc(items, func(item any) bool { return value.Equals(value.NewValueInterface(item), *element.Value) })
	case element.Index != nil && *element.Index >= 0 && *element.Index < len(items):
		return *element.Index
	}
	return -1
}

func indexOfKey(items []any, key value.FieldList) int {
	var partial []int
	for i, item := range items {
		fields, _ := item.(map[string]any)
		same, absent := 0, 0
		for _, field := range key {
			if have, present := fields[field.Name]; !present {
				absent++
			} else if value.Equals(value.NewValueInterface(have), field.Value) {
				same++
			}
		}
		switch {
		case same == len(key):
			return i
		case same > 0 && same+absent == len(key):
			partial = append(partial, i)
		}
	}
	if len(partial) == 1 {
		return partial[0]
	}
	return -1
}

// PathError means that the text of a path is malformed.
type PathError struct {
	Text   string // the text that was parsed
	Offset int    // the position of the problem in Text, in bytes
	Reason string // a description of the problem
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q: at offset %d: %s", e.Text, e.Offset, e.Reason)
}

// ParsePath parses a path in the notation of Path.String. The error is a *PathError.
func ParsePath(text string) (Path, error) {
	p, path := parser{text: text}, Path{}
	for p.at < len(text) {
		element, err := p.element()
		if err != nil {
			return Path{}, &PathError{Text: text, Offset: p.at, Reason: err.Error()}
		}
		path.elements = append(path.elements, element)
	}
	return path, nil
}

// ParsePaths parses several paths with ParsePath. It returns an error for an empty path, which means the whole object,
// and for a duplicate path.
func ParsePaths(texts []string) ([]Path, error) {
	var paths []Path
	for _, text := range texts {
		path, err := ParsePath(text)
		switch {
		case err != nil:
			return nil, err
		case path.IsRoot():
			return nil, errors.New("a path is empty: the empty path is the whole object, not a field")
		case slices.ContainsFunc(paths, path.Equal):
			return nil, fmt.Errorf("path %s is named twice", path)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// MustParsePath is like ParsePath, but panics on an error. Use it for paths that are constants in code.
func MustParsePath(text string) Path {
	path, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return path
}
