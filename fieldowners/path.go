package fieldowners

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"

	"coapply.dev/fieldowners/internal/notation"
)

// Path names one field of an object. The zero value is the root of the object.
// A Path is immutable.
type Path struct {
	elements fieldpath.Path
}

// String returns the path in the notation that ParsePath reads, such as
// .spec.template.spec.containers[name="web"].image. The root is "". Invisible characters are
// written as JSON escapes, so that the text cannot control a terminal.
func (p Path) String() string {
	var b strings.Builder
	for _, element := range p.elements {
		notation.Write(&b, element)
	}
	return b.String()
}

// MarshalText returns the path as String does, for JSON.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText returns. The error is a *PathError.
func (p *Path) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePath(string(text))
	return err
}

// ServerString returns the path as the API server writes it in the causes of a
// conflict. It leaves map keys unquoted and is therefore ambiguous: compare it,
// never parse it.
func (p Path) ServerString() string { return p.elements.String() }

// IsRoot reports whether the path names the whole object.
func (p Path) IsRoot() bool { return len(p.elements) == 0 }

// Equal reports whether both paths name the same field.
func (p Path) Equal(other Path) bool { return p.elements.Equals(other.elements) }

// Compare orders paths: negative when p comes before other.
func (p Path) Compare(other Path) int { return p.elements.Compare(other.elements) }

// HasPrefix reports whether p is prefix or lies below it.
func (p Path) HasPrefix(prefix Path) bool {
	n := len(prefix.elements)
	return n <= len(p.elements) && p.elements[:n].Equals(prefix.elements)
}

// Parent returns the path without its last element; for the root it returns the root.
func (p Path) Parent() Path {
	return Path{elements: p.elements[:max(len(p.elements)-1, 0)]}
}

// IsKeyField reports whether the path names a key field of a list item.
func (p Path) IsKeyField() bool {
	n := len(p.elements)
	if n < 2 || p.elements[n-1].FieldName == nil || p.elements[n-2].Key == nil {
		return false
	}
	return slices.ContainsFunc(*p.elements[n-2].Key, func(field value.Field) bool {
		return field.Name == *p.elements[n-1].FieldName
	})
}

// Len returns the number of elements of the path.
func (p Path) Len() int { return len(p.elements) }

// Element is one step of a path.
type Element struct {
	// Text is the step as String writes it: .spec, ["a.b/c"], [name="web"].
	Text string
	// Field is the name of a field or the key of a map; nil for an item of a list.
	Field *string
	// Keys are the fields that identify an item of an associative list.
	Keys []string
	// Index reports whether the step names an item by its index.
	Index bool
}

// Elements returns the steps of the path from the root.
func (p Path) Elements() []Element {
	all := make([]Element, len(p.elements))
	for i, element := range p.elements {
		if element.FieldName != nil {
			name := *element.FieldName
			all[i].Field = &name
		}
		all[i].Text, all[i].Index = notation.Text(element), element.Index != nil
		if element.Key != nil {
			for _, field := range *element.Key {
				all[i].Keys = append(all[i].Keys, field.Name)
			}
		}
	}
	return all
}

// Value returns the field's value in an unstructured object (maps, slices and scalars as
// encoding/json decodes them). ok is false if the object does not have the field. The value is
// the object's own, not a copy.
//
// An item of an associative list is found by its key fields. An item that lacks a key field, as
// it may in an intent if the server defaults the field, is found if no other item can be meant.
func (p Path) Value(object any) (found any, ok bool) { return p.value(object, child) }

// childOf returns the child of a map or a list that a path element names.
type childOf func(parent any, element fieldpath.PathElement) (any, bool)

func (p Path) value(object any, child childOf) (found any, ok bool) {
	found = object
	for _, element := range p.elements {
		if found, ok = child(found, element); !ok {
			return nil, false
		}
	}
	return found, true
}

func child(parent any, element fieldpath.PathElement) (any, bool) {
	if element.FieldName != nil {
		fields, _ := parent.(map[string]any)
		found, ok := fields[*element.FieldName]
		return found, ok
	}
	items, _ := parent.([]any)
	switch {
	case element.Key != nil:
		return itemByKey(items, *element.Key)
	case element.Value != nil:
		for _, item := range items {
			if value.Equals(value.NewValueInterface(item), *element.Value) {
				return item, true
			}
		}
	case element.Index != nil && *element.Index >= 0 && *element.Index < len(items):
		return items[*element.Index], true
	}
	return nil, false
}

func itemByKey(items []any, key value.FieldList) (any, bool) {
	var partial []any
	for _, item := range items {
		fields, _ := item.(map[string]any)
		switch same, absent := matchKey(fields, key); {
		case same == len(key):
			return item, true
		case same > 0 && same+absent == len(key):
			partial = append(partial, item)
		}
	}
	if len(partial) == 1 {
		return partial[0], true
	}
	return nil, false
}

func matchKey(fields map[string]any, key value.FieldList) (same, absent int) {
	for _, field := range key {
		have, present := fields[field.Name]
		switch {
		case !present:
			absent++
		case value.Equals(value.NewValueInterface(have), field.Value):
			same++
		}
	}
	return same, absent
}

// PathError says where the text of a path is malformed, and why.
type PathError struct {
	Text   string // what was parsed
	Offset int    // bytes from its start
	Reason string
}

func (e *PathError) Error() string {
	return fmt.Sprintf("path %q: at offset %d: %s", e.Text, e.Offset, e.Reason)
}

// ParsePath reads the notation of Path.String. The error is a *PathError.
func ParsePath(text string) (Path, error) {
	elements, at, err := notation.Parse(text)
	if err != nil {
		return Path{}, &PathError{Text: text, Offset: at, Reason: err.Error()}
	}
	return Path{elements: elements}, nil
}

// ParsePaths reads several paths, each as ParsePath does. An empty path, which is the whole
// object, and a path given twice are errors.
func ParsePaths(texts []string) ([]Path, error) {
	var paths []Path
	for _, text := range texts {
		path, err := ParsePath(text)
		switch {
		case err != nil:
			return nil, err
		case path.IsRoot():
			return nil, errors.New("an empty path names no field")
		case slices.ContainsFunc(paths, path.Equal):
			return nil, fmt.Errorf("path %s is named twice", path)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// MustParsePath is ParsePath for paths written in code; it panics on an error.
func MustParsePath(text string) Path {
	path, err := ParsePath(text)
	if err != nil {
		panic(err)
	}
	return path
}
