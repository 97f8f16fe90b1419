package fieldowners

import (
	"fmt"
	"math/bits"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// Index finds fields of an unstructured object as Path.Value, Path.Nearest and Locate do. Where
// these compare an item of a list with every other item, Index compares it with the items that
// have the same key. So the cost of looking up n items of a list grows with n, and not with its
// square. The object must not change. An Index is not safe for concurrent use.
type Index struct {
	object   any
	lists    map[listOf]map[string][]any // items by their key, or by what is there of it
	compared int                         // items that were compared with a path
}

// listOf names a list by its first item, and the fields by which its items are found.
type listOf struct {
	first  *any
	fields string
}

// maxKeyFields bounds the keys that are looked up, as each part of a key is. No list has a longer
// key, but anybody can forge managed fields.
const maxKeyFields = 6

// NewIndex returns an Index of an object.
func NewIndex(object any) *Index {
	return &Index{object: object, lists: map[listOf]map[string][]any{}}
}

// Value is Path.Value.
func (x *Index) Value(path Path) (any, bool) { return path.value(x.object, x.child) }

// Nearest is Path.Nearest.
func (x *Index) Nearest(path Path) (Path, bool) { return path.nearest(x.object, x.child) }

// Locate is Locate.
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

// itemByKey is the function of that name. The items that it asks have the whole key or, if none
// has, a part of the key and no other value of the rest.
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

// items returns the items of a list by the texts of the key fields that they have; of a set, if
// key is nil, by their own.
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

// itemText is the text of those of the named fields that an item has.
func itemText(fields map[string]any, names []string) string {
	var text strings.Builder
	for i, name := range names {
		if have, present := fields[name]; present {
			fmt.Fprintf(&text, "%d=%q ", i, keyText(value.NewValueInterface(have)))
		}
	}
	return text.String()
}

// partText is the itemText of an item that has the fields of the key whose bits are set.
func partText(key value.FieldList, part uint) string {
	var text strings.Builder
	for ; part != 0; part &= part - 1 {
		i := bits.TrailingZeros(part)
		fmt.Fprintf(&text, "%d=%q ", i, keyText(key[i].Value))
	}
	return text.String()
}

// keyText is the same for equal values. Large numbers that differ may have one text: whoever
// finds items by it compares them.
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
	return "" // compared with all others like it
}
