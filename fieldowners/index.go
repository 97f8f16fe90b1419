package fieldowners

import (
	"fmt"
	"math/bits"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"

	"coapply.dev/fieldowners/internal/notation"
)

// Index finds fields of an unstructured object, with the same results as Path.Value, Path.Nearest
// and Locate. Those functions compare the wanted list item with every item of the list. Index
// compares it only with items that have the same key. So the cost of looking up n items of a list
// is proportional to n, and not to its square. The object must not change while the Index is
// used. An Index is not safe for concurrent use.
type Index struct {
	object   any
	lists    map[listOf]map[string][]any // items by the fields of their key that they have
	compared int                         // the number of items that were compared with a path
}

// listOf identifies a list by its first item, and by the names of the key fields.
type listOf struct {
	first  *any
	fields string
}

// maxKeyFields limits the number of key fields, because the Index looks up every subset of them.
// No real list has more key fields, but anybody can forge managed fields.
const maxKeyFields = 6

// NewIndex returns an Index of an object.
func NewIndex(object any) *Index {
	return &Index{object: object, lists: map[listOf]map[string][]any{}}
}

// Value returns the same result as Path.Value for the object.
func (x *Index) Value(path Path) (any, bool) { return path.value(x.object, x.child) }

// Nearest returns the same result as Path.Nearest for the object.
func (x *Index) Nearest(path Path) (Path, bool) { return path.nearest(x.object, x.child) }

// Locate returns the same result as the function Locate for the object.
func (x *Index) Locate(serverPath string) []Path {
	var found []Path
	locate(x.object, serverPath, nil, x.child, &found)
	return found
}

func (x *Index) child(parent any, element fieldpath.PathElement) (any, bool) {
	list, _ := parent.([]any)
	switch {
	case len(list) == 0 || element.Key == nil && element.Value == nil || element.Key != nil && len(*element.Key) > maxKeyFields:
		return child(parent, element)
	case element.Value != nil:
		same := x.items(list, nil)[keyText(*element.Value)]
		x.compared += len(same)
		return child(same, element)
	}
	x.compared++
	return x.itemByKey(list, *element.Key)
}

// itemByKey returns the same result as the function itemByKey. It compares the items that have
// the whole key. If none of them matches, it compares the items that have a part of the key and
// lack the other key fields.
func (x *Index) itemByKey(list []any, key value.FieldList) (any, bool) {
	items := x.items(list, key)
	whole := uint(1)<<len(key) - 1
	if same := items[partText(key, whole)]; len(same) > 0 {
		x.compared += len(same)
		if item, ok := itemByKey(same, key); ok {
			return item, ok
		}
	}
	var partial []any
	for part := uint(1); part < whole; part++ {
		partial = append(partial, items[partText(key, part)]...)
	}
	x.compared += len(partial)
	return itemByKey(partial, key)
}

// items returns the items of a list, grouped by the text of the key fields that they have. If key
// is nil, the list is a set, and its items are grouped by the text of their values.
func (x *Index) items(list []any, key value.FieldList) map[string][]any {
	var names []string
	for _, field := range key {
		names = append(names, field.Name)
	}
	of := listOf{&list[0], strings.Join(names, "\x00")}
	if items, known := x.lists[of]; known {
		return items
	}
	items := map[string][]any{}
	for _, item := range list {
		text := keyText(value.NewValueInterface(item))
		if key != nil {
			fields, _ := item.(map[string]any)
			text = itemText(fields, names)
		}
		items[text] = append(items[text], item)
	}
	x.lists[of] = items
	return items
}

// itemText returns the text of those of the named fields that an item has.
func itemText(fields map[string]any, names []string) string {
	var text strings.Builder
	for i, name := range names {
		if have, present := fields[name]; present {
			fmt.Fprintf(&text, "%d=%q ", i, keyText(value.NewValueInterface(have)))
		}
	}
	return text.String()
}

// partText returns the itemText of an item that has exactly the key fields whose bits are set in
// part.
func partText(key value.FieldList, part uint) string {
	var text strings.Builder
	for ; part != 0; part &= part - 1 {
		i := bits.TrailingZeros(part)
		fmt.Fprintf(&text, "%d=%q ", i, keyText(key[i].Value))
	}
	return text.String()
}

// keyText returns the same text for equal values. Two different large numbers may have the same
// text, so a caller must compare the values as well.
func keyText(v value.Value) string {
	switch {
	case v.IsFloat():
		return fmt.Sprint(v.AsFloat())
	case v.IsInt():
		return fmt.Sprint(float64(v.AsInt()))
	case v.IsString():
		return "s" + v.AsString()
	case v.IsBool():
		return fmt.Sprint(v.AsBool())
	}
	return "" // all values of other types share this text
}

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
