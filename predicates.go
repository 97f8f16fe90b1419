package coapply

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
)

// Relevant lets those changes of a parent through that a controller acts on: the spec (and
// deletion), the pause, what others took of the status or the finalizers that its field
// manager had written, and what else is named, such as a field of the status that it emits
// from. The rest of the status changes with every write of others. Of a kind without a
// generation, such as ConfigMap, every change comes through. For uses it.
func Relevant[P client.Object](fieldManager string, fields ...func(P) any) predicate.Predicate {
	relevant := []predicate.Predicate{
		predicate.GenerationChangedPredicate{},
		writtenWithoutGeneration,
		Changed(func(object client.Object) any { return object.GetAnnotations()[reconciler.PausedAnnotation] }),
		Lost(fieldManager),
	}
	for _, field := range fields {
		relevant = append(relevant, Changed(func(object client.Object) any {
			if parent, ok := object.(P); ok {
				return field(parent)
			}
			return nil
		}))
	}
	return predicate.Or(relevant...)
}

// writtenWithoutGeneration lets every change of an object through whose kind has no
// generation.
var writtenWithoutGeneration = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() == 0 && e.ObjectNew.GetGeneration() == 0 &&
		e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
}}

// Changed lets through that something of an object is not as it was.
func Changed(of func(client.Object) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(of(e.ObjectOld), of(e.ObjectNew))
	}}
}

// Lost lets through that a field manager owns less of an object than it did: somebody
// took a field out or set it otherwise, or took its ownership alone. A write of the
// manager's own that gives up a field comes through as well, and so does every write
// where the manager owns nothing: the API server keeps no account of updates to an object
// that has no managed fields, such as one that was created without a spec.
func Lost(manager string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return lost(entriesOf(manager, e.ObjectOld), entriesOf(manager, e.ObjectNew))
	}}
}

func entriesOf(manager string, object client.Object) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(object.GetManagedFields()), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != manager
	})
}

// lost parses nothing where the fields are the same, as they are in most writes.
func lost(before, after []metav1.ManagedFieldsEntry) bool {
	if len(after) == 0 {
		return true
	}
	if slices.EqualFunc(before, after, func(a, b metav1.ManagedFieldsEntry) bool {
		return a.APIVersion == b.APIVersion && a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString()
	}) {
		return false
	}
	was, err := fieldowners.Parse(before)
	if err != nil {
		return true // whatever it was, a reconcile finds out what is missing
	}
	is, err := fieldowners.Parse(after)
	return err != nil || len(fieldowners.Diff(was, is).Lost) > 0
}

// BesidesStatus lets through what was written to an object but its status. That may be the
// managed fields alone: of an entry that the cache does not keep, only a new
// resourceVersion tells. Two writes that are seen as one, as after a broken watch, may pass
// for one of the status.
func BesidesStatus[T client.Object](status func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, same := e.ObjectNew.(T)
		return ok && same && before.GetResourceVersion() != after.GetResourceVersion() &&
			equality.Semantic.DeepEqual(status(before), status(after))
	}}
}

// ControllerChanged lets through that an object comes to, or goes from, its
// controller, which does not change its generation.
func ControllerChanged() predicate.Predicate {
	return Changed(func(object client.Object) any { return metav1.GetControllerOf(object) })
}
