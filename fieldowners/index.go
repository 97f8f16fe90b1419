package fieldowners

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/items"
	"coapply.dev/fieldowners/internal/notation"
)

// Index finds fields of an unstructured object with the same results as Path.Value, Path.Nearest and Locate, but
// faster. To find a list item, those functions compare the wanted key with every item of the list. An Index looks up
// the key in a map, and compares the key only with items that lack a key field. The object must not change while the
// Index is used. An Index is not safe for concurrent use.
type Index struct {
	object any
	lists  map[listOf]itemFinder
}

// listOf identifies a list by the address of its first item and by the names of its key fields.
type listOf struct {
	first  *any
	fields string
}

// NewIndex returns an Index for the fields of an unstructured object.
func NewIndex(object any) *Index {
	return &Index{object: object, lists: map[listOf]itemFinder{}}
}

// Value returns the same result for the object as Path.Value.
func (x *Index) Value(path Path) (any, bool) { return path.value(x.object, x.child) }

// Nearest returns the same result for the object as Path.Nearest.
func (x *Index) Nearest(path Path) (Path, bool) { return path.nearest(x.object, x.child) }

// Locate returns the same result for the object as the function Locate.
func (x *Index) Locate(serverPath string) []Path {
	var found []Path
	locate(x.object, serverPath, nil, x.child, &found)
	return found
}

func (x *Index) child(parent any, element fieldpath.PathElement) (any, bool) {
	list, _ := parent.([]any)
	how, isItem := items.NamingOf(element)
	if len(list) == 0 || !isItem {
		return child(parent, element)
	}
	of := listOf{&list[0], strings.Join(how.Fields, "\x00")}
	finder, known := x.lists[of]
	if !known {
		finder = newItemFinder(how, list)
		x.lists[of] = finder
	}
	if i := finder.find(element); i >= 0 {
		return list[i], true
	}
	return nil, false
}

// Locate returns the paths of an unstructured object's fields that have the given path string of the API server (see
// Path.ServerString), sorted by Path.Compare. It returns several paths if map keys with dots make the string
// ambiguous. It returns no path if the object does not have the field.
func Locate(object any, serverPath string) []Path {
	var found []Path
	locate(object, serverPath, nil, child, &found)
	return found
}

func locate(at any, rest string, prefix fieldpath.Path, child childOf, found *[]Path) {
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
				locate(below, rest[end:], append(prefix, fieldpath.PathElement{FieldName: &name}), child, found)
			}
		}
	case []any:
		// The API server writes list items in the notation of this package, but escapes rare characters
		// differently. Items with such characters are not found.
		element, after, _ := notation.First(rest)
		if item, has := child(parent, element); has {
			locate(item, after, append(prefix, element), child, found)
		}
	}
}
