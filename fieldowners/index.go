package fieldowners

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Index finds fields of an unstructured object with the same results as Path.Value and Path.Nearest, but faster if many
// fields of the object are looked up. To find a list item, Path compares the key with every item of the list, and an
// Index looks up the key in a map. The object must not change while the Index is used. An Index is not safe for
// concurrent use.
type Index struct {
	object any
	lists  map[listOf]namedList
}

// listOf identifies a list by the address of its first item and by the names of its key fields.
type listOf struct {
	first  *any
	fields string
}

// NewIndex returns an Index for the fields of an unstructured object.
func NewIndex(object any) *Index {
	return &Index{object: object, lists: map[listOf]namedList{}}
}

// Value is like Path.Value, for the object of the Index.
func (x *Index) Value(path Path) (any, bool) { return path.value(x.object, x.child) }

// Nearest is like Path.Nearest, for the object of the Index.
func (x *Index) Nearest(path Path) (Path, bool) { return path.nearest(x.object, x.child) }

// Locate is like the function Locate, for the object of the Index.
func (x *Index) Locate(serverPath string) (found []Path) {
	x.locate(x.object, serverPath, nil, &found)
	return found
}

func (x *Index) child(parent any, element fieldpath.PathElement) (any, bool) {
	list, _ := parent.([]any)
	how, isItem := namingOf(element)
	if len(list) == 0 || !isItem {
		return child(parent, element)
	}
	of := listOf{&list[0], strings.Join(how.fields, "\x00")}
	named, known := x.lists[of]
	if !known {
		named = how.list(list)
		x.lists[of] = named
	}
	if i := named.find(element); i >= 0 {
		return list[i], true
	}
	return nil, false
}

// Locate returns the paths of the fields of an unstructured object that the API server would write as serverPath (see
// Path.ServerString), sorted by Path.Compare. It returns several paths if map keys with dots make serverPath ambiguous.
// It returns no path if the object does not have the field.
func Locate(object any, serverPath string) []Path { return NewIndex(object).Locate(serverPath) }

func (x *Index) locate(at any, rest string, prefix fieldpath.Path, found *[]Path) {
	if rest == "" {
		*found = append(*found, Path{elements: prefix.Copy()})
		return
	}
	switch parent := at.(type) {
	case map[string]any:
		for end := 1; rest[0] == '.' && end <= len(rest); end++ {
			if end < len(rest) && rest[end] != '.' && rest[end] != '[' {
				continue // rest[1:end] is not followed by a new path element
			}
			name := rest[1:end]
			if below, has := parent[name]; has {
				x.locate(below, rest[end:], append(prefix, fieldpath.PathElement{FieldName: &name}), found)
			}
		}
	case []any:
		// The API server writes list items in the notation of this package, but escapes rare characters
		// differently. Items with such characters are not found.
		p := parser{text: rest}
		element, _ := p.element()
		if item, has := x.child(parent, element); has {
			x.locate(item, rest[p.at:], append(prefix, element), found)
		}
	}
}
