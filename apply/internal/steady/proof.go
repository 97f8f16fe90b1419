// Package steady proves that an apply would change nothing: neither a value nor an owner.
//
// It is pure: from a request, an object as it was read, and the API server's schemas it
// computes a proof, or the reason why there is none. It sends nothing, and does not change its
// arguments.
//
// # Contract
//
//  1. Request.Prove does what the API server does (structured-merge-diff's Updater.Apply), by
//     the same library and the server's own schemas. The manager must have exactly one managed
//     fields entry, with exactly the fields that the server would keep, and the merge must
//     change no value.
//  2. What cannot be proven is an error. Nothing is guessed about fields that the Go type of
//     the read does not have, or about unknown schemas.
//  3. In kinds whose Go type is the server's own a value may differ in form, such as 1000m
//     where the server has 1, if nobody else owns the field. So may defaults that the server
//     adds to a value that is owned as a whole: those in the schema of a custom resource, and a
//     few of the server's own kinds.
//  4. A response of the API server (Read.Answer) shows more than a read: the stored form of each
//     value, and that the manager owns nothing. A proof from a response holds only for the
//     resourceVersion of the response.
//  5. The stringData of a Secret is compared with the data into which the API server converts it.
//     The empty strategy of a Deployment or DaemonSet is compared with the default that the API
//     server restores.
//  6. KeyOf returns different keys for intents whose JSON differs. A Print hashes what the proof
//     depends on: the manager's entry, and the values that it owns. A proof for one version of
//     an object holds for another version with the same Print, if the proof was exact.
//  7. What the server does beyond Server-Side Apply, such as mutating admission, is not
//     considered.
//
// Valid:
//
//	print, err := steady.Request{
//		Manager: "shop", Kind: kind, Config: content, GoType: reflect.TypeFor[appsv1.Deployment](),
//	}.Prove(steady.Read{Object: cached, Kind: kind}, schemas)
//
// Invalid: a Read of metadata alone, or an object from a cache that strips managed fields.
// Neither shows what the proof needs, so nothing is ever proven.
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

// Request describes an apply.
type Request struct {
	Manager     string
	Subresource string // "" or status
	Kind        schema.GroupVersionKind
	Config      map[string]any // what is applied
	GoType      reflect.Type   // of the kind, as the client's scheme knows it; nil where it does not
}

// Read is an object as it was read. It may be the cache's own, and is not written to.
type Read struct {
	client.Object

	Kind schema.GroupVersionKind // of the object's Go type in the client's scheme

	// Answer means that the object is the API server's unstructured response to a write. A
	// response has an entry for each manager that owns something. A cached object may lack
	// entries.
	Answer bool
}

const status = "status"

// contentOf returns an object as a value, with its kind and without its managed fields. The
// object is not changed.
func (r Request) contentOf(read Read) (value.Value, error) {
	if read.Kind != r.Kind {
		return nil, fmt.Errorf("it was read as %v", read.Kind)
	}
	object := read.Object
	if read, ok := object.(runtime.Unstructured); ok { // also types that embed an unstructured.Unstructured
		content := maps.Clone(read.UnstructuredContent())
		metadata, _ := content["metadata"].(map[string]any) // it has our entry
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
		return value.NewValueInterface(content), nil
	}
	shallow := reflect.New(reflect.TypeOf(object).Elem())
	shallow.Elem().Set(reflect.ValueOf(object).Elem())
	copied, _ := reflect.TypeAssert[client.Object](shallow) // as it was
	copied.SetManagedFields(nil)
	copied.GetObjectKind().SetGroupVersionKind(r.Kind) // typed objects are read without their kind
	return value.NewValueReflect(copied)
}

// Prove returns a Print of the object if the apply would change nothing. Otherwise the error says
// what the apply would change, or why that is not known.
//
// It does what the API server does (structured-merge-diff's Updater.Apply), by the same library
// and the server's own schemas: the request's field set replaces that of our entry, and what is
// applied is merged into the object. If the set is the same and the merge changes nothing,
// nothing can be in conflict, and nothing is given up.
func (r Request) Prove(read Read, schemas managedfields.TypeConverter) (*Print, error) {
	exactly, err := r.prove(read, schemas)
	switch {
	case err != nil:
		return nil, err
	case exactly && !read.Answer:
		return r.PrintOf(read), nil
	}
	return r.printOfVersion(read), nil
}

// prove also reports whether the values are exactly those of the intent, in the same form.
func (r Request) prove(read Read, schemas managedfields.TypeConverter) (exactly bool, err error) {
	entry, held, err := r.compare(read)
	if err != nil {
		return false, err
	}
	wanted, set, err := r.typed(schemas)
	if err != nil {
		return false, err
	}
	owned, err := parseFields(entry)
	if err != nil {
		return false, err
	}
	if !owned.Equals(set) {
		return false, errors.New("the manager does not own exactly the fields of the intent")
	}
	if r.setsStringData() {
		if r, err = r.withoutStringData(read); err != nil {
			return false, err
		}
		if wanted, set, err = r.typed(schemas); err != nil {
			return false, err
		}
	}
	return r.proveContent(wanted, set, held, read)
}

// proveContent is the second part of the proof, after the proof that the manager owns exactly the
// applied fields. It proves that the merge would change no value.
func (r Request) proveContent(wanted *typed.TypedValue, set *fieldpath.Set, held value.Value, read Read) (exactly bool, err error) {
	if read.hides(set, wanted.Schema(), wanted.TypeRef()) {
		return false, fmt.Errorf("%T may not show all that is stored, or not in the form in which it is; read it as unstructured", read.Object)
	}
	live, err := read.asStored(held, wanted)
	if err != nil {
		return false, err
	}
	emptied := emptiedBy(set, wanted.AsValue(), live.AsValue())
	if cleared := r.notRestored(emptied, live); len(cleared) > 0 && !allOwned(cleared, live, read) {
		return false, errors.New("it sets nothing of what holds something, and the server clears of it what nobody owns")
	}
	exactly, err = r.proveValues(wanted, set, live, read)
	return exactly && len(emptied) == 0, err // in another version others may own less
}

// typed returns the applied content, and the set of fields that the API server would record for
// it.
func (r Request) typed(schemas managedfields.TypeConverter) (wanted *typed.TypedValue, set *fieldpath.Set, err error) {
	if wanted, err = schemas.ObjectToTyped(&unstructured.Unstructured{Object: r.Config}); err == nil {
		set, err = fieldsOf(wanted)
	}
	return wanted, set, err
}

// asStored returns the object as the server reads what it stores, by the schema of the wanted
// content. A Go type that is newer than the server may write an empty struct, such as a status,
// that the schema does not have: it is left out.
func (r Read) asStored(held value.Value, wanted *typed.TypedValue) (*typed.TypedValue, error) {
	live, err := typed.AsTyped(held, wanted.Schema(), wanted.TypeRef(), typed.AllowDuplicates)
	if _, raw := r.Object.(runtime.Unstructured); err == nil || raw || !held.IsMap() {
		return live, err
	}
	atom, _ := wanted.Schema().Resolve(wanted.TypeRef()) // a map, as what is wanted is valid
	known := map[string]any{}
	held.AsMap().Iterate(func(name string, at value.Value) bool {
		if _, declared := atom.Map.FindField(name); declared || holds(at) > 0 {
			known[name] = at.Unstructured()
		}
		return true
	})
	return typed.AsTyped(value.NewValueInterface(known), wanted.Schema(), wanted.TypeRef(), typed.AllowDuplicates)
}

// Compare is the part of the proof that needs no schema.
func (r Request) Compare(read Read) error {
	_, _, err := r.compare(read)
	return err
}

// compare returns the manager's entry, and the content of the object.
func (r Request) compare(read Read) (entry *metav1.ManagedFieldsEntry, held value.Value, err error) {
	if r.Manager == "kubectl" {
		return nil, nil, errors.New("the server writes kubectl's own annotation, too")
	}
	if entry = r.ownEntry(read); entry == nil {
		return nil, nil, errors.New("it has not one entry of ours, of this apiVersion")
	}
	if r.Subresource == "" && r.Config[status] != nil {
		return nil, nil, errors.New("it sets the status, which the server may drop")
	}
	if content.Within(r.Config, hasEmptyItem) {
		return nil, nil, errors.New("it has a list item that sets nothing, not even its key")
	}
	if held, err = r.contentOf(read); err != nil {
		return nil, nil, err
	}
	return entry, held, nil
}

// proveValues returns an error unless merging the wanted content into the object changes no
// value, or forms only.
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

// emptiedBy returns the maps and lists that the intent sets to an empty value or null, and in
// which the object has something.
func emptiedBy(set *fieldpath.Set, wanted, live value.Value) (emptied []fieldpath.Path) {
	set.Leaves().Iterate(func(path fieldpath.Path) {
		// The intent as sent has no value at a path by a key that it leaves to its default.
		there := valueAt(live, path)
		if there != nil && (there.IsMap() || there.IsList()) && holds(there) > 0 && holds(valueAt(wanted, path)) == 0 {
			emptied = append(emptied, path.Copy())
		}
	})
	return emptied
}

// allOwned reports whether everything below these paths is owned by somebody, by the entries
// that were read.
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

// hasEmptyItem reports whether a value is a list with an item that sets nothing, so that its
// keys are defaults: the server adds and drops such an item by turns.
func hasEmptyItem(content any) bool {
	list, _ := content.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		fields, ok := item.(map[string]any)
		return ok && len(fields) == 0
	})
}
