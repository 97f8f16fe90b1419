package integration

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// kindOf says how values of a shape merge and who can own what of them.
type kindOf int

const (
	leafShape   kindOf = iota // a scalar, or an atomic list or map: owned as a whole
	objectShape               // an object with known fields
	mapShape                  // a granular map with any keys; each key can be owned itself
	listShape                 // an associative list by key fields
	setShape                  // a list of distinct scalars, each owned by value
)

// modelShape is a type of the model.
type modelShape struct {
	kind     kindOf
	fields   map[string]*modelShape // of objectShape
	elem     *modelShape            // of mapShape, listShape and setShape
	keys     []string               // of listShape, in alphabetical order
	defaults map[string]any         // of objectShape: what the server fills in; keys of a list only
	samples  []any                  // of leafShape: values that tests choose from
	schema   map[string]any         // of leafShape, where samples do not tell it
	names    []string               // of mapShape: keys that tests choose from
	vanishes bool                   // an empty one is not stored (omitempty)
}

// node is one field, list item or container of an object.
type node struct {
	parent string
	name   string // as a field of its parent; "" for list items
	shape  *modelShape
	value  any // of a leafShape
}

// tree is an object as its nodes by path; the root is "". Paths are in the
// notation of fieldowners.Path.
type tree map[string]node

// flatten gives the nodes of an unstructured value. Fields that the shape does not
// know are left out.
func flatten(s *modelShape, value any) tree {
	t := tree{}
	t.add("", node{parent: "-", shape: s}, value)
	return t
}

func (t tree) add(at string, n node, value any) {
	switch n.shape.kind {
	case leafShape:
		n.value = value
	case objectShape, mapShape:
		fields, _ := value.(map[string]any)
		for name, child := range fields {
			s := n.shape.elem
			if n.shape.kind == objectShape {
				s = n.shape.fields[name]
			}
			if s != nil {
				t.add(at+fieldText(name), node{parent: at, name: name, shape: s}, child)
			}
		}
	case listShape, setShape:
		items, _ := value.([]any)
		for _, item := range items {
			t.add(at+n.shape.itemText(item), node{parent: at, shape: n.shape.elem}, item)
		}
	}
	t[at] = n
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$-]*$`)

// fieldText is the text of one field in a path.
func fieldText(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return "[" + scalarText(name) + "]"
}

// itemText is the text of one list item in a path. A key that the item leaves out
// is the default.
func (s *modelShape) itemText(item any) string {
	if s.kind == setShape {
		return "[=" + scalarText(item) + "]"
	}
	fields, _ := item.(map[string]any)
	var parts []string
	for _, key := range s.keys {
		value, given := fields[key]
		if !given {
			value = s.elem.defaults[key]
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

// build is the inverse of flatten, nil for what is not there. Lists come in the
// order of their paths.
func (t tree) build(at string) any {
	n, there := t[at]
	if !there {
		return nil
	}
	switch n.shape.kind {
	case objectShape, mapShape:
		fields := map[string]any{}
		for _, child := range t.children(at) {
			fields[t[child].name] = t.build(child)
		}
		return fields
	case listShape, setShape:
		items := []any{}
		for _, child := range t.children(at) {
			items = append(items, t.build(child))
		}
		return items
	}
	return n.value
}

func (t tree) children(at string) []string {
	var found []string
	for path, n := range t {
		if n.parent == at {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

// within tells whether a path is another one or lies below it.
func within(path, top string) bool {
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || top == "" || rest[0] == '.' || rest[0] == '[')
}

// cut removes a node with everything below it.
func (t tree) cut(top string) {
	maps.DeleteFunc(t, func(path string, _ node) bool { return within(path, top) })
}

// only keeps what lies in one part of the object, with its parents.
func (t tree) only(keep func(path string) bool) tree {
	kept := tree{"": t[""]}
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
func (t tree) fill() {
	for at, n := range maps.Clone(t) {
		for name, value := range n.shape.defaults {
			child := at + fieldText(name)
			if _, given := t[child]; !given {
				t[child] = node{parent: at, name: name, shape: n.shape.fields[name], value: value}
			}
		}
	}
}

// values is the tree as something to compare and to read in a failed test.
func (t tree) values() map[string]any {
	values := map[string]any{}
	for at, n := range t {
		switch {
		case n.shape.kind == leafShape:
			values[at] = n.value
		case at != "" && len(t.children(at)) == 0:
			values[at] = "(empty)"
		}
	}
	return values
}
