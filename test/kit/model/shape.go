package model

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// KindOf says how values of a shape merge and who can own what of them.
type KindOf int

// The shapes of fields.
const (
	LeafShape   KindOf = iota // a scalar, or an atomic list or map: owned as a whole
	ObjectShape               // an object with known fields
	MapShape                  // a granular map with any keys; each key can be owned itself
	ListShape                 // an associative list by key fields
	SetShape                  // a list of distinct scalars, each owned by value
)

// Shape is a type of the model.
type Shape struct {
	Kind     KindOf
	Fields   map[string]*Shape // of objectShape
	Elem     *Shape            // of mapShape, listShape and setShape
	Keys     []string          // of listShape, in alphabetical order
	Defaults map[string]any    // of objectShape: what the server fills in; keys of a list only
	Samples  []any             // of leafShape: values that tests choose from
	Schema   map[string]any    // of leafShape, where samples do not tell it
	Names    []string          // of mapShape: keys that tests choose from
	Vanishes bool              // an empty one is not stored (omitempty)
}

// node is one field, list item or container of an object.
type node struct {
	parent string
	name   string // as a field of its parent; "" for list items
	shape  *Shape
	value  any // of a leafShape
}

// Tree is an object as its nodes by path; the root is "". Paths are in the
// notation of fieldowners.Path.
type Tree map[string]node

// Flatten returns the nodes of an unstructured value. Fields that the shape does not
// know are left out.
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

// FieldText is the text of one field in a path.
func FieldText(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "[" + scalarText(name) + "]"
}

// ItemText is the text of one list item in a path. A key that the item leaves out
// is the default.
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

// Build is the inverse of flatten, nil for what is not there. Lists come in the
// order of their paths.
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

// Within reports whether a path is another one or lies below it.
func Within(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || top == "" || rest[0] == '.' || rest[0] == '[')
}

// cut removes a node with everything below it.
func (t Tree) cut(top string) {
	maps.DeleteFunc(t, func(path string, _ node) bool { return Within(path, top) })
}

// Only keeps what lies in one part of the object, with its parents.
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

// fill adds what the server defaults.
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

// Values is the tree as something to compare and to read in a failed test.
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
