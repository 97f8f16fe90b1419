package steady

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"coapply.dev/apply/internal/gotypes"
)

// proveForms returns an error unless values differ in their form only: the server adds defaults
// to what is owned as a whole, and its Go type has one text for a quantity and leaves out zero
// values. If others own such a field, there would be a conflict all the same, as the server
// compares values as they are sent.
func (r Request) proveForms(wanted *typed.TypedValue, set *fieldpath.Set, live *typed.TypedValue, changes *typed.Comparison, read Read) error {
	if changes.IsSame() || !changes.Removed.Empty() { // only the order differs, or something would be removed
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
			return fmt.Errorf("%s shares what has another form there: %s", entry.Manager, differing)
		}
	}
	return nil
}

// normalForm returns the wanted content as the server would store it, nil if nothing is left,
// and the fields that the server leaves out. ok is false if this is not known.
func (r Request) normalForm(wanted *typed.TypedValue, set *fieldpath.Set) (normal *typed.TypedValue, dropped *fieldpath.Set, ok bool) {
	completed, ok := r.completed(wanted)
	if !ok {
		return nil, nil, false
	}
	if r.GoType == nil || !gotypes.IsServersOwn(r.Kind, r.GoType) { // only the defaults are known
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
	if all.Intersection(leaves).Empty() { // nothing is left to merge
		return nil, leaves, true
	}
	normal = whole.ExtractItems(leaves)
	fields, err := fieldsOf(normal)
	if err != nil || !fields.Leaves().Difference(leaves).Empty() {
		return nil, nil, false
	}
	return normal, leaves.Difference(fields.Leaves()), true
}

// asGo returns content as the server's Go type writes it. ok is false if the type does not know
// a field: an older type would leave it out, whatever its value is.
func (r Request) asGo(content map[string]any) (value.Value, bool) {
	own := reflect.New(r.GoType).Interface()
	if runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, own, true) != nil {
		return nil, false
	}
	read, err := value.NewValueReflect(own)
	return read, err == nil
}

// heldIn reports whether the object has the parent of each of the fields: otherwise an apply
// would add it.
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
