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

// proveForms holds that values differ in their form only: the server reads what it
// stores into the same Go type, which has one text for a quantity and leaves out what
// is zero. Others who own such a field would be in conflict with ours all the same, as
// values are compared as they are sent.
func (r Request) proveForms(wanted *typed.TypedValue, set *fieldpath.Set, live *typed.TypedValue, changes *typed.Comparison, read Read) error {
	if changes.IsSame() || !changes.Removed.Empty() { // the order is another one, or something goes
		return fmt.Errorf("it would change: %s", changes)
	}
	normal, dropped, ok := r.normalForm(wanted, set)
	if !ok || !dropped.Difference(changes.Added).Empty() || !heldIn(live.AsValue(), dropped) {
		return fmt.Errorf("it would change: %s", changes)
	}
	if normal != nil {
		if merged, err := live.Merge(normal); err != nil || !value.Equals(merged.AsValue(), live.AsValue()) {
			return fmt.Errorf("it would change: %s", changes)
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

// normalForm returns what is wanted as the server's Go type has it, and the fields that
// this type leaves out; nil if that is all of them. It is not ok where the type is not
// known to be the server's, or does not know a field: an older type leaves that out,
// whatever its value is.
func (r Request) normalForm(wanted *typed.TypedValue, set *fieldpath.Set) (normal *typed.TypedValue, dropped *fieldpath.Set, ok bool) {
	if r.GoType == nil || !gotypes.IsServersOwn(r.Kind, r.GoType) {
		return nil, nil, false
	}
	own := reflect.New(r.GoType).Interface()
	raw, ok := wanted.AsValue().Unstructured().(map[string]any)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw, own, true) != nil {
		return nil, nil, false
	}
	content, err := value.NewValueReflect(own)
	if err != nil {
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

// heldIn reports whether the object has what holds each of the fields: else an apply
// would add that.
func heldIn(object value.Value, fields *fieldpath.Set) bool {
	held := true
	fields.Iterate(func(path fieldpath.Path) {
		at := object
		for _, element := range path[:len(path)-1] {
			if held {
				at, _, held = elementOf(at, element)
			}
		}
		held = held && at != nil && at.IsMap()
	})
	return held
}
