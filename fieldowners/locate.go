package fieldowners

import (
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"

	"coapply.dev/fieldowners/internal/notation"
)

// Locate returns the fields of an unstructured object that the API server may mean by a path
// string of its own (see Path.ServerString), in the order of Path.Compare. There are several if
// map keys with dots make the string ambiguous, and none if the object does not have the field.
//
// List items are found by their keys in the string.
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
				continue // no name ends here
			}
			name := rest[1:end]
			if below, has := parent[name]; has {
				locate(below, rest[end:], append(prefix, fieldpath.PathElement{FieldName: &name}), child, found)
			}
		}
	case []any:
		// The server writes the items of a list as we do, but escapes rare characters
		// differently; items with these are not found. Nor is one by a text that names none.
		element, after, _ := notation.First(rest)
		if item, has := child(parent, element); has {
			locate(item, after, append(prefix, element), child, found)
		}
	}
}
