package update

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"coapply.dev/apply/internal/gotypes"
	"coapply.dev/apply/internal/wire"
)

// place is the position of a value in an object, with the Go type of the value.
type place struct {
	fieldpath.Path // list items are identified by their index

	goType reflect.Type // nil if it is not known, as for the values in an unstructured object
}

// field returns the place of a field of a struct, or of an entry of a map.
func (p place) field(name string) place {
	return place{append(slices.Clip(p.Path), fieldpath.PathElement{FieldName: &name}), gotypes.FieldType(p.goType, name)}
}

func (p place) item(index int) place {
	return place{append(slices.Clip(p.Path), fieldpath.PathElement{Index: &index}), gotypes.ItemType(p.goType)}
}

// items implements rebase for a list. For each item that mutate kept, it returns the live item with the changes by
// mutate. New items are sent unchanged. The live list and the list before mutate have the same items at the same
// indices, unless the Go type omits or adds items.
func (n narrowing) items(list place, live, before, after []any) ([]any, error) {
	from, err := n.origins(list, live, before, after)
	if err != nil {
		return nil, err
	}
	items := slices.Clone(after)
	for i, j := range from {
		if j < 0 {
			continue
		}
		if items[i], err = n.rebase(list.item(j), live[j], before[j], after[i]); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// origins returns, for each item of the list after mutate, the index of the same item in the list before mutate, or -1
// if the item is new.
//
// Unchanged items are found by equality, and changed items by the keys of the list. If the list has no keys, a changed
// item cannot be distinguished from a new item that replaces the old item. This matters if the live item has a field
// that the Go type lacks: the field of a changed item must stay, and the field of a replaced item must go. In this case,
// origins returns an error. Otherwise the item counts as new.
func (n narrowing) origins(list place, live, before, after []any) (from []int, err error) {
	if len(live) != len(before) { // the Go type omits or adds items, so the indices differ
		return slices.Repeat([]int{-1}, len(after)), n.refuse(list, list, live, nil, errOtherNumber)
	}
	from = equalItems(before, after, gotypes.ItemType(list.goType))
	var gone []int
	for j := range before {
		if !slices.Contains(from, j) {
			gone = append(gone, j)
		}
	}
	doubtful, why := ambiguous(live, before, from, gone), errSameItems
	hides := func(j int) bool { return !reflect.DeepEqual(live[j], before[j]) }
	if slices.Contains(from, -1) && slices.ContainsFunc(gone, hides) {
		byKeys, noKeys := n.originsByKeys(list, before, after)
		if noKeys == nil {
			return byKeys, nil
		}
		doubtful, why = append(gone, doubtful...), noKeys
	}
	for _, j := range doubtful {
		if err := n.refuse(list, list.item(j), live[j], before[j], why); err != nil {
			return nil, err
		}
	}
	return from, nil
}

// equalItems matches the items of two lists by equality, and returns indices as origins does. It first compares items
// at the same index, and then the remaining items in order.
func equalItems(before, after []any, item reflect.Type) (from []int) {
	from = slices.Repeat([]int{-1}, len(after))
	remaining := map[string][]int{} // the indices in before, by content of the item
	for j := range before {
		if j < len(after) && alike(before[j], after[j], item) {
			from[j] = j
		} else {
			remaining[text(before[j])] = append(remaining[text(before[j])], j)
		}
	}
	for i := range after {
		if equal := remaining[text(after[i])]; from[i] < 0 && len(equal) > 0 {
			from[i], remaining[text(after[i])] = equal[0], equal[1:]
		}
	}
	return from
}

// ambiguous returns the indices of removed items and kept items that are equal in the Go type but differ in the live
// object. It is not known which of these live items mutate removed.
func ambiguous(live, before []any, from, gone []int) (items []int) {
	for _, j := range gone {
		for _, kept := range from {
			if kept >= 0 && reflect.DeepEqual(before[j], before[kept]) && !reflect.DeepEqual(live[j], live[kept]) {
				items = append(items, j, kept)
			}
		}
	}
	return items
}

// originsByKeys matches the items of two lists by the key fields in the API server's schema, and returns indices as
// origins does. It returns an error if the key fields are not known, or do not identify the items.
func (n narrowing) originsByKeys(list place, before, after []any) (from []int, err error) {
	key, err := n.keysOf(list)
	if err != nil {
		return nil, err
	}
	were, are := map[string]int{}, map[string]bool{}
	for j, item := range before {
		were[key(item)] = j
	}
	for _, item := range after {
		j, found := were[key(item)]
		if !found {
			j = -1
		}
		from = append(from, j)
		are[key(item)] = true
	}
	if len(were) < len(before) || len(are) < len(after) {
		return nil, errSameKeys
	}
	return from, nil
}

// keysOf returns a function that returns the key values of an item of the list as text. An item without a key field has
// the default value that the API server would set.
func (n narrowing) keysOf(list place) (key func(item any) string, err error) {
	kind, err := n.schema()
	if err != nil {
		return nil, err
	}
	atom := typeAt(list.Path, kind)
	if atom.List == nil || atom.List.ElementRelationship != smd.Associative || len(atom.List.Keys) == 0 {
		return nil, errNoKeys
	}
	itemType, _ := kind.Schema().Resolve(atom.List.ElementType)
	return func(item any) string {
		fields, _ := item.(map[string]any)
		values := make([]any, len(atom.List.Keys))
		for i, name := range atom.List.Keys {
			value, has := fields[name]
			if !has && itemType.Map != nil {
				field, _ := itemType.Map.FindField(name)
				value = field.Default
			}
			values[i] = value
		}
		return text(values)
	}, nil
}

// typeAt returns the type of the value at a path, according to the API server's schema of the kind. The type is empty
// if the schema does not contain the path.
func typeAt(path fieldpath.Path, kind *typed.TypedValue) smd.Atom {
	atom, _ := kind.Schema().Resolve(kind.TypeRef())
	for _, element := range path {
		var below smd.TypeRef
		switch {
		case element.FieldName == nil && atom.List != nil:
			below = atom.List.ElementType
		case element.FieldName != nil && atom.Map != nil:
			below = atom.Map.ElementType
			if field, known := atom.Map.FindField(*element.FieldName); known {
				below = field.Type
			}
		}
		atom, _ = kind.Schema().Resolve(below)
	}
	return atom
}

// text returns a value as a string. Equal values have equal strings, because the map keys are sorted.
func text(of any) string { return fmt.Sprintf("%#v", of) }

// schemaOf returns an empty value with the API server's schema of a kind.
func (u *Updater) schemaOf(ctx context.Context, kind schema.GroupVersionKind) (*typed.TypedValue, error) {
	if u.config.Schemas == nil {
		return nil, errNoSchemas
	}
	converter, err := u.config.Schemas(ctx, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return converter.ObjectToTyped(wire.Named(kind, types.NamespacedName{}))
}

// Reasons why an item of a list after mutate cannot be matched with an item of the live list.
var (
	errNoSchemas   = errors.New("the list's keys are not known, because update.Config.Schemas is nil")
	errNoKeys      = errors.New("the list has no keys in the API server's schema")
	errSameKeys    = errors.New("two items have the same keys")
	errSameItems   = errors.New("two items are equal in all fields that the Go type has")
	errOtherNumber = errors.New("the Go type omits items of the list or adds items to the list")
)

// refuse returns an error if the live value has a field that the Go type lacks, because the write could drop this
// field. The argument at is the place of the value, which is the list or one of its items. shown is the JSON that the
// Go type writes for the value. why says why a changed or removed item cannot be matched with a live item.
func (n narrowing) refuse(list, at place, live, shown any, why error) error {
	field := unknownTo(at, live, shown)
	if field == "" {
		return nil
	}
	return fmt.Errorf("nothing was written: %w: the write could drop %s, which %v does not have, because an item of the list %v "+
		"was changed or removed and cannot be matched with an item of the live list (%w); pass an *unstructured.Unstructured, or add the field to the Go type",
		ErrUnknownField, field, n.goType, list, why)
}

// unknownTo searches the live value for a field that the Go type lacks. It returns the path of the first such field,
// or "". A field that is not in shown, the JSON that the Go type writes, may still belong to the Go type, because the Go
// type may omit zero values.
func unknownTo(at place, live, shown any) (field string) {
	switch live := live.(type) {
	case map[string]any:
		shown, _ := shown.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(live)) {
			field := at.field(name)
			if _, written := shown[name]; !written && field.goType == nil {
				return field.String()
			}
			if found := unknownTo(field, live[name], shown[name]); found != "" {
				return found
			}
		}
	case []any:
		shown, _ := shown.([]any)
		if len(shown) != len(live) { // the indices differ
			shown = make([]any, len(live))
		}
		for i := range live {
			if found := unknownTo(at.item(i), live[i], shown[i]); found != "" {
				return found
			}
		}
	}
	return ""
}
