package coapply

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev/fieldowners"
)

// Reading is an option of Builder.Owns. It names all that Status and Belongs read of a child of
// that kind, which may be nothing. C is the Go type of the kind.
func Reading[C client.Object](fields ...func(child C) any) builder.OwnsOption {
	r := reading{}
	for _, field := range fields {
		r = append(r, func(object client.Object) (any, bool) {
			child, ok := object.(C)
			if !ok {
				return nil, false
			}
			return field(child), true
		})
	}
	return r
}

// reading are the functions of Reading. They return false for an object of another Go type.
type reading []func(client.Object) (any, bool)

// ApplyToOwns implements builder.OwnsOption. Builder.Complete looks for the option itself.
func (reading) ApplyToOwns(*builder.OwnsInput) {}

func (r reading) differs(old, is client.Object) bool {
	return slices.ContainsFunc(r, func(field func(client.Object) (any, bool)) bool {
		was, known := field(old)
		now, too := field(is)
		return !known || !too || !reflect.DeepEqual(was, now)
	})
}

// ownedKind is a kind of children.
type ownedKind struct {
	object client.Object
	opts   []builder.OwnsOption
}

// reading returns the functions of all Reading options; named is false if there is none.
func (o ownedKind) reading() (all reading, named bool) {
	for _, option := range o.opts {
		if r, ok := option.(reading); ok {
			all, named = append(all, r...), true
		}
	}
	return all, named
}

// wakes is the predicate for changes of a child that lead to a reconcile of its parent.
type wakes struct {
	predicate.Funcs // passes all events but updates

	fieldManager string
	apiVersion   string           // of the child, as it is watched
	parent       schema.GroupKind // of the parent
	settled      func(parent types.NamespacedName, uid types.UID) bool
	reads        reading
}

// Update returns true unless it is certain that the reconcile would find nothing to do. For a
// resync of the cache, without a change, it returns false: see Builder.Resync.
func (w wakes) Update(e event.UpdateEvent) bool {
	old, is := e.ObjectOld, e.ObjectNew
	if old == nil || is == nil {
		return true
	}
	if old.GetUID() == is.GetUID() && old.GetResourceVersion() == is.GetResourceVersion() {
		return false
	}
	return !w.parentsSettled(is) || w.drifted(old, is) || w.reads.differs(old, is)
}

func (w wakes) parentsSettled(child client.Object) bool {
	return !slices.ContainsFunc(child.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		of, err := schema.ParseGroupVersion(owner.APIVersion)
		if err != nil || owner.Kind != w.parent.Kind || of.Group != w.parent.Group {
			return err != nil
		}
		return !w.settled(types.NamespacedName{Namespace: child.GetNamespace(), Name: owner.Name}, owner.UID) &&
			!w.settled(types.NamespacedName{Name: owner.Name}, owner.UID) // of a parent without a namespace
	})
}

// drifted reports whether a field that we applied may have another value or other owners, or
// the object may be deleted or no longer the parent's.
func (w wakes) drifted(old, is client.Object) bool {
	return old.GetUID() != is.GetUID() || is.GetDeletionTimestamp() != nil ||
		!reflect.DeepEqual(old.GetOwnerReferences(), is.GetOwnerReferences()) ||
		!fieldowners.SameFor(w.fieldManager, old.GetManagedFields(), is.GetManagedFields()) ||
		!w.sameValues(old, is)
}

// sameValues reports whether the fields that we own have the same values. The API server may
// change one without changing its owner, such as a node port when somebody changes the type of
// a Service.
func (w wakes) sameValues(old, is client.Object) bool {
	if _, partly := is.(*metav1.PartialObjectMetadata); partly {
		return false // not known
	}
	ours := entriesOf(w.fieldManager, is)
	if !ownStatus(ours) && sameBesidesStatus(old, is) {
		return true
	}
	owned, err := fieldowners.Parse(ours)
	before, after := contentOf(old), contentOf(is)
	return err == nil && before != nil && after != nil && !slices.ContainsFunc(owned.Entries(), func(entry fieldowners.Entry) bool {
		return entry.APIVersion != w.apiVersion || !entry.SameValues(before, after)
	})
}

func ownStatus(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(entry metav1.ManagedFieldsEntry) bool {
		return strings.Contains(entry.FieldsV1.GetRawString(), `"f:status"`)
	})
}

// sameBesidesStatus reports whether two typed objects are equal except for the status, without
// converting them. It is false for unstructured ones.
func sameBesidesStatus(old, is client.Object) bool {
	a, b := reflect.ValueOf(old).Elem(), reflect.ValueOf(is).Elem()
	if a.Type() != b.Type() || a.Kind() != reflect.Struct {
		return false
	}
	for i := range a.NumField() {
		switch a.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				return false
			}
		}
	}
	return reflect.DeepEqual(old.GetLabels(), is.GetLabels()) && reflect.DeepEqual(old.GetAnnotations(), is.GetAnnotations()) &&
		reflect.DeepEqual(old.GetFinalizers(), is.GetFinalizers())
}

// contentOf returns an object as unstructured content; nil if it cannot be converted.
func contentOf(object client.Object) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil
	}
	return content
}
