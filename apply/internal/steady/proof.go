// Package steady proves that an apply would be a no-op: it would change neither a value nor an owner.
//
// The package is pure: it sends no requests, and does not change its arguments. It computes a proof from three inputs:
// the apply, the object that was read, and the API server's schemas. If there is no proof, it returns the reason.
//
// # Contract
//
//  1. Request.Prove repeats the computation of the API server (structured-merge-diff's Updater.Apply), with the same
//     library and the API server's own schemas. The manager must have exactly one managed fields entry. The entry must
//     list exactly the fields that the API server would store. Merging the apply configuration into the object must
//     change no value.
//  2. If there is no proof, Prove returns an error. Examples are schemas that are not known, and an object whose Go
//     type lacks a field.
//  3. For kinds that are compiled into the API server, a value may differ in form, such as 1000m in the intent and 1 in
//     the object, if no other manager owns the field. The proof also considers the defaults that the API server adds
//     inside a value that is owned as a whole. These are the defaults in the schema of a custom resource, and a few
//     defaults of built-in kinds.
//  4. A response of the API server (Read.Answer) contains the stored form of each value. If it contains no entry of the
//     manager, the manager owns no field. A proof from a response is valid only for the resourceVersion of the
//     response.
//  5. The stringData of a Secret is converted to data before the comparison. The empty strategy of a Deployment or
//     DaemonSet is compared with the default that the API server restores.
//  6. KeyOf returns different keys for intents whose JSON differs. A Print contains hashes of the manager's entry and
//     of the values of the manager's fields. If the object contains the intent's values without any difference in form,
//     the proof is also valid for other versions of the object with the same hashes.
//  7. Changes by the API server outside Server-Side Apply, such as mutating admission, are not considered.
//
// Valid:
//
//	print, err := steady.Request{
//		Manager: "shop", Kind: kind, Config: content, GoType: reflect.TypeFor[appsv1.Deployment](),
//	}.Prove(steady.Read{Object: cached, Kind: kind}, schemas)
//
// Invalid: a Read that contains only metadata, or an object from a cache that strips managed fields. Such a Read never
// yields a proof.
package steady

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"coapply.dev/apply/internal/content"
)

// Request describes an apply. Prove tries to prove that this apply would be a no-op.
type Request struct {
	Manager     string
	Subresource string // "" for the object itself, or "status"
	Kind        schema.GroupVersionKind
	Config      map[string]any // the content of the apply configuration
	GoType      reflect.Type   // the kind's Go type in the client's scheme; nil if there is none
}

// Read is an object that was read from a cache or from the API server. The object is never changed.
type Read struct {
	client.Object

	Kind schema.GroupVersionKind // the kind of the object's Go type in the client's scheme

	// Answer means that the object is the API server's response to a write. The response must be unstructured. It
	// contains a managed fields entry for each manager that owns a field, whereas a cached object may lack entries.
	Answer bool
}

const status = "status"

// contentOf returns the content of the object that was read, with its kind and without its managed fields.
func (r Request) contentOf(read Read) (value.Value, error) {
	if read.Kind != r.Kind {
		return nil, fmt.Errorf("the object was read as %v, which is not the kind of the intent", read.Kind)
	}
	object := read.Object
	if read, ok := object.(runtime.Unstructured); ok { // includes types that embed an unstructured.Unstructured
		content := maps.Clone(read.UnstructuredContent())
		metadata, _ := content["metadata"].(map[string]any) // not nil, because it contains the manager's entry
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
		return value.NewValueInterface(content), nil
	}
	shallow := reflect.New(reflect.TypeOf(object).Elem())
	shallow.Elem().Set(reflect.ValueOf(object).Elem())
	copied, _ := reflect.TypeAssert[client.Object](shallow) // copied has the same type as object
	copied.SetManagedFields(nil)
	copied.GetObjectKind().SetGroupVersionKind(r.Kind) // typed objects may lack their kind
	return value.NewValueReflect(copied)
}

// Prove returns a Print of the object if the apply would change nothing. Otherwise the error says what the apply would
// change, or why this is not known.
//
// Like the API server (structured-merge-diff's Updater.Apply), Prove computes the fields that the manager would own,
// and merges the apply configuration into the object. It uses the same library and the API server's own schemas. If the
// manager already owns exactly these fields, and the merge changes no value, the apply has no conflicts, and the
// manager loses no field.
//
// Prove calls the function schemas only if the rest of the proof needs the schemas.
func (r Request) Prove(read Read, schemas func() (managedfields.TypeConverter, error)) (*Print, error) {
	exactly, err := r.prove(read, schemas)
	switch {
	case err != nil:
		return nil, err
	case exactly && !read.Answer:
		return r.PrintOf(read), nil
	}
	return r.printOfVersion(read), nil
}

// prove returns an error unless the apply would change nothing. exactly is true if the object contains the values of
// the intent without any difference in form.
func (r Request) prove(read Read, schemas func() (managedfields.TypeConverter, error)) (exactly bool, err error) {
	entry, held, err := r.compare(read)
	if err != nil {
		return false, err
	}
	types, err := schemas()
	if err != nil {
		return false, err
	}
	wanted, set, err := r.typed(types)
	if err != nil {
		return false, err
	}
	owned, err := parseFields(entry)
	if err != nil {
		return false, err
	}
	if !owned.Equals(set) {
		return false, errors.New("the field manager does not own exactly the fields that the intent sets")
	}
	if r.setsStringData() {
		if r, err = r.withoutStringData(read); err != nil {
			return false, err
		}
		if wanted, set, err = r.typed(types); err != nil {
			return false, err
		}
	}
	return r.proveContent(wanted, set, held, read)
}

// proveContent returns an error if merging the intent into the object would change a value. The caller has already
// proved that the manager owns exactly the fields of the intent.
func (r Request) proveContent(wanted *typed.TypedValue, set *fieldpath.Set, held value.Value, read Read) (exactly bool, err error) {
	if read.hides(set, wanted.Schema(), wanted.TypeRef()) {
		return false, fmt.Errorf("the Go type %T may hide stored fields, or may change the form of stored values; read the object as unstructured", read.Object)
	}
	live, err := read.asStored(held, wanted)
	if err != nil {
		return false, err
	}
	emptied := emptiedBy(set, wanted.AsValue(), live.AsValue())
	if cleared := r.notRestored(emptied, live); len(cleared) > 0 && !allOwned(cleared, live, read) {
		return false, errors.New("the intent sets {}, [] or null where the object has a map or list with entries, and the API server would remove the entries without an owner")
	}
	exactly, err = r.proveValues(wanted, set, live, read)
	return exactly && len(emptied) == 0, err // in another version, an emptied map may have content without an owner, which is removed
}

// typed returns the apply configuration as a value with its schema, and the set of fields that the API server would
// store in the managed fields.
func (r Request) typed(schemas managedfields.TypeConverter) (wanted *typed.TypedValue, set *fieldpath.Set, err error) {
	if wanted, err = schemas.ObjectToTyped(&unstructured.Unstructured{Object: r.Config}); err == nil {
		set, err = fieldsOf(wanted)
	}
	return wanted, set, err
}

// asStored returns the object as a value with the schema of the apply configuration. It leaves out empty structs, such
// as a status, that are not in the schema. A Go type that is newer than the API server may have added them.
func (r Read) asStored(held value.Value, wanted *typed.TypedValue) (*typed.TypedValue, error) {
	live, err := typed.AsTyped(held, wanted.Schema(), wanted.TypeRef(), typed.AllowDuplicates)
	if _, raw := r.Object.(runtime.Unstructured); err == nil || raw || !held.IsMap() {
		return live, err
	}
	atom, _ := wanted.Schema().Resolve(wanted.TypeRef()) // a map type: wanted is a valid object
	known := map[string]any{}
	held.AsMap().Iterate(func(name string, at value.Value) bool {
		if _, declared := atom.Map.FindField(name); declared || holds(at) > 0 {
			known[name] = at.Unstructured()
		}
		return true
	})
	return typed.AsTyped(value.NewValueInterface(known), wanted.Schema(), wanted.TypeRef(), typed.AllowDuplicates)
}

// compare returns the managed fields entry of the manager and the content of the object. It returns an error if there
// cannot be a proof.
func (r Request) compare(read Read) (entry *metav1.ManagedFieldsEntry, held value.Value, err error) {
	if r.Manager == "kubectl" {
		return nil, nil, errors.New("for the field manager kubectl, the API server also writes the last-applied annotation")
	}
	if held, err = r.contentOf(read); err != nil {
		return nil, nil, err
	}
	if path := differs(r.Config, held); path != "" {
		return nil, nil, fmt.Errorf("the apply would change %s", path)
	}
	if entry = r.ownEntry(read); entry == nil {
		return nil, nil, errors.New("the managed fields do not contain exactly one Apply entry of the field manager with the intent's apiVersion")
	}
	if r.Subresource == "" && r.Config[status] != nil {
		return nil, nil, errors.New("the intent sets the status, which the API server may drop")
	}
	if content.Within(r.Config, hasEmptyItem) {
		return nil, nil, errors.New("the intent has a list item that sets no field, not even its key")
	}
	return entry, held, nil
}

// differs returns the path of a field of the intent that has another value in the object, or "". It compares strings,
// integers and booleans outside lists. A string that may be another form of the same value does not differ.
// Without this comparison, each changed intent would cost a merge.
func differs(wanted map[string]any, held value.Value) (path string) {
	for name, want := range wanted {
		at, has := held.AsMap().Get(name)
		changed := false
		switch want := want.(type) {
		case map[string]any:
			if has && at.IsMap() {
				path = differs(want, at)
			}
		case string:
			changed = has && at.IsString() && want != at.AsString() && !content.MayBeSame(want, at.AsString())
		case int64:
			changed = has && at.IsInt() && want != at.AsInt()
		case bool:
			changed = has && at.IsBool() && want != at.AsBool()
		}
		if changed || path != "" {
			return "." + name + path
		}
	}
	return ""
}

// proveValues returns an error if merging the intent into the object would change more than the form of values. exactly
// is true if the merge would change nothing at all.
func (r Request) proveValues(wanted *typed.TypedValue, set *fieldpath.Set, live *typed.TypedValue, read Read) (exactly bool, err error) {
	merged, err := live.Merge(wanted)
	if err != nil {
		return false, err
	}
	if value.Equals(merged.AsValue(), live.AsValue()) {
		return true, nil
	}
	changes, err := live.Compare(merged)
	if err != nil {
		return false, err
	}
	return false, r.proveForms(wanted, set, live, changes, read)
}

// emptiedBy returns the paths of the non-empty maps and lists of the object that the intent sets to {}, [] or null.
func emptiedBy(set *fieldpath.Set, wanted, live value.Value) (emptied []fieldpath.Path) {
	set.Leaves().Iterate(func(path fieldpath.Path) {
		// If a list item on the path omits a key field that has a default, the intent has no value at this path.
		there := valueAt(live, path)
		if there != nil && (there.IsMap() || there.IsList()) && holds(there) > 0 && holds(valueAt(wanted, path)) == 0 {
			emptied = append(emptied, path.Copy())
		}
	})
	return emptied
}

// allOwned reports whether all fields of the object below the given paths have an owner.
func allOwned(below []fieldpath.Path, live *typed.TypedValue, read Read) bool {
	rest, err := fieldsOf(live)
	if err != nil {
		return false
	}
	rest = rest.Leaves()
	for _, entry := range read.GetManagedFields() {
		theirs, err := parseFields(&entry)
		if err != nil {
			return false
		}
		rest = rest.Difference(theirs)
	}
	all := true
	rest.Iterate(func(path fieldpath.Path) {
		for _, top := range below {
			all = all && (len(path) <= len(top) || !path[:len(top)].Equals(top))
		}
	})
	return all
}

// hasEmptyItem reports whether a value is a list with an empty item, {}. The API server adds all keys of such an item
// as defaults. If the list is applied repeatedly, the API server alternately adds and removes the item.
func hasEmptyItem(content any) bool {
	list, _ := content.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && len(fields) == 0
	})
}
