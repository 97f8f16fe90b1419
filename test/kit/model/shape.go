package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// KindOf is the kind of a Shape. It determines how values are merged, and which parts of a value can have owners.
type KindOf int

// The shapes of fields.
const (
	LeafShape   KindOf = iota // a scalar, or an atomic list or map: owned as a whole
	ObjectShape               // an object with known fields
	MapShape                  // a granular map with any keys; each key can be owned itself
	ListShape                 // an associative list by key fields
	SetShape                  // a list of distinct scalars, each owned by value
)

// Shape is a type of field in the model.
type Shape struct {
	Kind     KindOf
	Fields   map[string]*Shape // for ObjectShape
	Elem     *Shape            // for MapShape, ListShape and SetShape
	Keys     []string          // for ListShape, in alphabetical order
	Defaults map[string]any    // for ObjectShape: defaults that the API server sets; only for keys of a list
	Samples  []any             // for LeafShape: values that tests choose from
	Schema   map[string]any    // the OpenAPI schema, if it cannot be derived from the other fields
	Names    []string          // for MapShape: keys that tests choose from
	Vanishes bool              // the API server does not store an empty value (omitempty)
}

// node is one field, list item or container of an object.
type node struct {
	parent string
	name   string // name of the field in its parent; "" for list items
	shape  *Shape
	value  any // for LeafShape
}

// Tree is an object as a map from paths to nodes. The path of the root is "". Paths are in the notation of
// fieldowners.Path.
type Tree map[string]node

// Flatten returns the nodes of an unstructured value. Fields that the shape does not know are left out.
func Flatten(s *Shape, value any) Tree {
	t := Tree{}
	t.add("", node{parent: "-", shape: s}, value)
	return t
}

func (t Tree) add(at string, n node, value any) {
	switch n.shape.Kind {
	case LeafShape:
		n.value = value
	case ObjectShape, MapShape:
		fields, _ := value.(map[string]any)
		for name, child := range fields {
			s := n.shape.Elem
			if n.shape.Kind == ObjectShape {
				s = n.shape.Fields[name]
			}
			if s != nil {
				t.add(at+FieldText(name), node{parent: at, name: name, shape: s}, child)
			}
		}
	case ListShape, SetShape:
		items, _ := value.([]any)
		for _, item := range items {
			t.add(at+n.shape.ItemText(item), node{parent: at, shape: n.shape.Elem}, item)
		}
	}
	t[at] = n
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$-]*$`)

// FieldText returns the text of one field in a path.
func FieldText(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "[" + scalarText(name) + "]"
}

// ItemText returns the text of one list item in a path. A key that the item does not have gets its default value.
func (s *Shape) ItemText(item any) string {
	if s.Kind == SetShape {
		return "[=" + scalarText(item) + "]"
	}
	fields, _ := item.(map[string]any)
	var parts []string
	for _, key := range s.Keys {
		value, given := fields[key]
		if !given {
			value = s.Elem.Defaults[key]
		}
		parts = append(parts, key+"="+scalarText(value))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func scalarText(value any) string {
	if s, ok := value.(string); ok {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return fmt.Sprint(value)
}

// Build is the inverse of Flatten. It returns nil if there is no node at the path. The items of lists are sorted by
// their paths.
func (t Tree) Build(at string) any {
	n, there := t[at]
	if !there {
		return nil
	}
	switch n.shape.Kind {
	case ObjectShape, MapShape:
		fields := map[string]any{}
		for _, child := range t.children(at) {
			fields[t[child].name] = t.Build(child)
		}
		return fields
	case ListShape, SetShape:
		items := []any{}
		for _, child := range t.children(at) {
			items = append(items, t.Build(child))
		}
		return items
	}
	return n.value
}

func (t Tree) children(at string) []string {
	var found []string
	for path, n := range t {
		if n.parent == at {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

// Within reports whether path is equal to top or below it.
func Within(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || top == "" || rest[0] == '.' || rest[0] == '[')
}

// cut removes a node with everything below it.
func (t Tree) cut(top string) {
	maps.DeleteFunc(t, func(path string, _ node) bool { return Within(path, top) })
}

// Only returns the nodes for which keep returns true, with their parents.
func (t Tree) Only(keep func(path string) bool) Tree {
	kept := Tree{"": t[""]}
	for path := range t {
		if keep(path) {
			for at := path; at != ""; at = t[at].parent {
				kept[at] = t[at]
			}
		}
	}
	return kept
}

// fill adds the defaults that the API server sets.
func (t Tree) fill() {
	for at, n := range maps.Clone(t) {
		for name, value := range n.shape.Defaults {
			child := at + FieldText(name)
			if _, given := t[child]; !given {
				t[child] = node{parent: at, name: name, shape: n.shape.Fields[name], value: value}
			}
		}
	}
}

// Values returns the leaves and the empty containers by path, for comparisons and for the messages of tests.
func (t Tree) Values() map[string]any {
	values := map[string]any{}
	for at, n := range t {
		switch {
		case n.shape.Kind == LeafShape:
			values[at] = n.value
		case at != "" && len(t.children(at)) == 0:
			values[at] = "(empty)"
		}
	}
	return values
}
