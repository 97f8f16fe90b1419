package apply

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// proveForms holds that values differ in their form only: the server reads what it
// stores into the same Go type, which has one text for a quantity and leaves out what
// is zero. Others who own such a field would be in conflict with ours all the same, as
// values are compared as they are sent.
func (c *call) proveForms(wanted *typed.TypedValue, set *fieldpath.Set, live *typed.TypedValue, changes *typed.Comparison, object client.Object) error {
	normal, dropped, ok := c.normalForm(wanted, set)
	if !ok || !dropped.Difference(changes.Added).Empty() || !heldIn(live.AsValue(), dropped) {
		return fmt.Errorf("it would change: %s", changes)
	}
	if normal != nil {
		if merged, err := live.Merge(normal); err != nil || !value.Equals(merged.AsValue(), live.AsValue()) {
			return fmt.Errorf("it would change: %s", changes)
		}
	}
	differing := changes.Modified.Union(changes.Added)
	for _, entry := range object.GetManagedFields() {
		if c.isOurEntry(entry) {
			continue
		}
		theirs, err := parseFields(&entry)
		if err != nil || !theirs.Intersection(differing).Empty() {
			return fmt.Errorf("%s shares what has another form there: %s", entry.Manager, differing)
		}
	}
	return nil
}

// normalForm gives what is wanted as the server's Go type has it, and the fields that
// this type leaves out; nil if that is all of them. It is not ok where the type is not
// known to be the server's.
func (c *call) normalForm(wanted *typed.TypedValue, set *fieldpath.Set) (normal *typed.TypedValue, dropped *fieldpath.Set, ok bool) {
	own, err := c.client.Scheme().New(c.ref.GroupVersionKind)
	if err != nil || !strings.HasPrefix(reflect.TypeOf(own).Elem().PkgPath(), "k8s.io/api/") {
		return nil, nil, false
	}
	raw, ok := wanted.AsValue().Unstructured().(map[string]any)
	if !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(raw, own) != nil {
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

// heldIn tells whether the object has what holds each of the fields: else an apply
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

// hidesForms tells whether the Go type that an object was read as may show a field of
// the set in another form than the server stores it. The server keeps the text that a
// custom resource was given: 1024Mi, which a resource.Quantity shows as 1Gi. To apply
// 1Gi would change it. The server's own kinds are stored as their types show them.
func hidesForms(object client.Object, set *fieldpath.Set) bool {
	if _, raw := object.(runtime.Unstructured); raw {
		return false
	}
	kind := pointedAt(reflect.TypeOf(object))
	if strings.HasPrefix(kind.PkgPath(), "k8s.io/") { // also metadata alone
		return false
	}
	hides := false
	set.Leaves().Iterate(func(path fieldpath.Path) {
		if !isMetadata(path) {
			hides = hides || hasForm(typeAt(kind, path), map[reflect.Type]bool{})
		}
	})
	return hides
}

func isMetadata(path fieldpath.Path) bool {
	return path[0].FieldName != nil && *path[0].FieldName == "metadata"
}

// typeAt is the type that a path leads to, or one on the way that has a form of its
// own; nil where it leads nowhere.
func typeAt(t reflect.Type, path fieldpath.Path) reflect.Type {
	for _, element := range path {
		if t = pointedAt(t); hasOwnForm(t) {
			return t
		}
		switch t.Kind() {
		case reflect.Map, reflect.Slice, reflect.Array:
			t = t.Elem()
		case reflect.Struct:
			if element.FieldName == nil {
				return nil
			}
			if t = fieldType(t, *element.FieldName); t == nil {
				return nil
			}
		default:
			return nil
		}
	}
	return t
}

// fieldType finds a field by its name in JSON, also in what is embedded; nil: there is
// none.
func fieldType(t reflect.Type, name string) reflect.Type {
	for field := range t.Fields() {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch embedded := pointedAt(field.Type); {
		case tag == name:
			return field.Type
		case tag == "" && field.Anonymous && embedded.Kind() == reflect.Struct:
			if found := fieldType(embedded, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// hasForm tells whether a type, or one below it, has a form of its own.
func hasForm(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == nil {
		return true // not known
	}
	if t = pointedAt(t); seen[t] {
		return false
	}
	seen[t] = true
	switch {
	case hasOwnForm(t):
		return true
	case t.Kind() == reflect.Map:
		return hasForm(t.Elem(), seen)
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array:
		return t.Elem().Kind() == reflect.Uint8 || hasForm(t.Elem(), seen) // base64 has several
	case t.Kind() == reflect.Struct:
		for field := range t.Fields() {
			if hasForm(field.Type, seen) {
				return true
			}
		}
	}
	return false
}

// hasOwnForm tells of a type that reads and writes itself. An IntOrString stays the one
// that it is.
func hasOwnForm(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return t != reflect.TypeFor[intstr.IntOrString]() &&
		(pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()))
}

func pointedAt(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
