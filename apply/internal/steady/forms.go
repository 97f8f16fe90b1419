package steady

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"coapply.dev/apply/internal/gotypes"
)

// proveForms returns an error if merging the intent would change more than the form of values. The API server changes
// the form of a value in three ways: it adds defaults inside a value that is owned as a whole, writes equal quantities
// in the same way, and leaves out zero values. proveForms also returns an error if another manager owns a field whose
// form differs. The apply would then conflict, because the API server compares values before it changes their form.
func (r Request) proveForms(wanted *typed.TypedValue, set *fieldpath.Set, live *typed.TypedValue, changes *typed.Comparison, read Read) error {
	if changes.IsSame() || !changes.Removed.Empty() { // not a change of form: only the order differs, or a field would be removed
		return fmt.Errorf("the apply would change: %s", changes)
	}
	normal, dropped, ok := r.normalForm(wanted, set)
	if !ok || !dropped.Difference(changes.Added).Empty() || !heldIn(live.AsValue(), dropped) {
		return fmt.Errorf("the apply would change: %s", changes)
	}
	if normal != nil {
		if merged, err := live.Merge(normal); err != nil || !value.Equals(merged.AsValue(), live.AsValue()) {
			return fmt.Errorf("the apply would change: %s", changes)
		}
	}
	differing := changes.Modified.Union(changes.Added)
	for _, entry := range read.GetManagedFields() {
		if r.isOwn(entry) {
			continue
		}
		theirs, err := parseFields(&entry)
		if err != nil || !theirs.Intersection(differing).Empty() {
			return fmt.Errorf("%s also owns fields whose values the intent and the object write in different forms, such as 1000m and 1: %s", entry.Manager, differing)
		}
	}
	return nil
}

// normalForm returns the content of the intent in the API server's stored form, or nil if no field would be left.
// dropped is the set of fields that the API server would leave out. ok is false if the stored form is not known.
func (r Request) normalForm(wanted *typed.TypedValue, set *fieldpath.Set) (normal *typed.TypedValue, dropped *fieldpath.Set, ok bool) {
	completed, ok := r.completed(wanted)
	if !ok {
		return nil, nil, false
	}
	if r.GoType == nil || !gotypes.IsServersOwn(r.Kind, r.GoType) { // for a custom resource, only the defaults are known
		normal, err := typed.AsTyped(value.NewValueInterface(completed), wanted.Schema(), wanted.TypeRef())
		return normal, fieldpath.NewSet(), err == nil
	}
	content, ok := r.asGo(completed)
	if !ok {
		return nil, nil, false
	}
	whole, err := typed.AsTyped(content, wanted.Schema(), wanted.TypeRef())
	if err != nil {
		return nil, nil, false
	}
	leaves := set.Leaves()
	all, err := fieldsOf(whole)
	if err != nil {
		return nil, nil, false
	}
	if all.Intersection(leaves).Empty() { // no field would be left
		return nil, leaves, true
	}
	normal = whole.ExtractItems(leaves)
	fields, err := fieldsOf(normal)
	if err != nil || !fields.Leaves().Difference(leaves).Empty() {
		return nil, nil, false
	}
	return normal, leaves.Difference(fields.Leaves()), true
}

// asGo decodes content into the Go type of the API server, and returns the decoded value. It returns false if content
// has a field that the Go type lacks: decoding with a Go type that is older than the API server drops the field.
func (r Request) asGo(content map[string]any) (value.Value, bool) {
	own := reflect.New(r.GoType).Interface()
	if runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, own, true) != nil {
		return nil, false
	}
	read, err := value.NewValueReflect(own)
	return read, err == nil
}

// heldIn reports whether the object contains the parents of all given fields. The apply would add a missing parent, and
// so change the object.
func heldIn(object value.Value, fields *fieldpath.Set) bool {
	held := true
	fields.Iterate(func(path fieldpath.Path) {
		at := object
		for _, element := range path[:len(path)-1] {
			at, _, _ = elementOf(at, element)
		}
		held = held && at != nil && at.IsMap()
	})
	return held
}

// elementOf returns the child of a value that a path element identifies: a field of a map, or an item of a list. For a
// list it also returns the index of the item, because another order of the items is a change.
func elementOf(of value.Value, element fieldpath.PathElement) (at value.Value, index int, found bool) {
	switch {
	case of == nil:
		return nil, 0, false
	case element.FieldName != nil:
		if !of.IsMap() {
			return nil, 0, false
		}
		at, found = of.AsMap().Get(*element.FieldName)
		return at, 0, found
	case !of.IsList():
		return nil, 0, false
	}
	items := of.AsList()
	for i := range items.Length() {
		if item := items.At(i); isElement(item, i, element) {
			return item, i, true
		}
	}
	return nil, 0, false
}

func isElement(item value.Value, index int, element fieldpath.PathElement) bool {
	switch {
	case element.Index != nil:
		return index == *element.Index
	case element.Value != nil:
		return value.Equals(item, *element.Value)
	case !item.IsMap():
		return false
	}
	fields := item.AsMap()
	for _, key := range *element.Key {
		if at, ok := fields.Get(key.Name); !ok || !value.Equals(at, key.Value) {
			return false
		}
	}
	return true
}

// valueAt returns the value at a path, or nil if there is no such field.
func valueAt(of value.Value, path fieldpath.Path) value.Value {
	for _, element := range path {
		of, _, _ = elementOf(of, element)
	}
	return of
}

// holds returns the number of entries in a map or list, 1 for a scalar, and 0 for null and nil.
func holds(of value.Value) int {
	switch {
	case of == nil || of.IsNull():
		return 0
	case of.IsMap():
		return of.AsMap().Length()
	case of.IsList():
		return of.AsList().Length()
	}
	return 1
}

const (
	data       = "data"
	stringData = "stringData"
)

// setsStringData reports whether the request is for a Secret and sets its stringData.
func (r Request) setsStringData() bool {
	_, has := r.Config[stringData]
	return has && r.Kind == corev1.SchemeGroupVersion.WithKind("Secret")
}

// withoutStringData returns the request with its stringData moved into data, as the API server moves it. The API server
// computes owners and conflicts before the move, so the manager owns the fields of stringData, and not the fields of
// data. If another manager also owns fields of stringData, withoutStringData returns an error. The apply would then
// conflict even with the same value, because no stored object contains a stringData.
func (r Request) withoutStringData(read Read) (Request, error) {
	moved, ok := r.Config[stringData].(map[string]any)
	if !ok {
		return r, errors.New("the intent's stringData is not a map")
	}
	all := map[string]any{}
	if at, has := r.Config[data]; has {
		known, _ := at.(map[string]any)
		if maps.Copy(all, known); len(all) == 0 {
			return r, errors.New("the intent sets stringData, and sets data to {} or null")
		}
	}
	for name, text := range moved {
		text, ok := text.(string)
		if _, twice := all[name]; !ok || twice {
			return r, errors.New("the intent's stringData has a key that is also in the intent's data, or a value that is not a string")
		}
		all[name] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	for _, entry := range read.GetManagedFields() {
		if theirs, err := parseFields(&entry); err != nil || !r.isOwn(entry) && sets(theirs, stringData) {
			return r, errors.New("another field manager also owns fields of stringData")
		}
	}
	r.Config = maps.Clone(r.Config)
	delete(r.Config, stringData)
	if len(all) > 0 {
		r.Config[data] = all
	}
	return r, nil
}

// sets reports whether a set of fields contains the top-level field with this name, or a field below it.
func sets(set *fieldpath.Set, field string) bool {
	element := fieldpath.PathElement{FieldName: &field}
	_, below := set.Children.Get(element)
	return below || set.Members.Has(element)
}
