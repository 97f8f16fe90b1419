package coapply

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
)

// Relevant returns the predicate that a Builder uses for updates of a parent. It accepts an update that changes the
// spec, the deletion timestamp, the pause annotation, or the result of one of the given functions. It also accepts an
// update after which the field manager owns fewer fields of the parent, such as a status field or a finalizer. For a
// kind without a generation, such as ConfigMap, it accepts every update.
func Relevant[P client.Object](fieldManager string, fields ...func(P) any) predicate.Predicate {
	return predicate.Or(relevantToApplier(fieldManager, fields...), unrecorded)
}

// relevantToApplier is Relevant without the predicate unrecorded. A field manager that writes only by Apply does not
// need unrecorded, because the API server records the owners of applied fields in every object.
func relevantToApplier[P client.Object](fieldManager string, fields ...func(P) any) predicate.Predicate {
	relevant := []predicate.Predicate{
		predicate.GenerationChangedPredicate{},
		writtenWithoutGeneration,
		Changed(func(object client.Object) any { return object.GetAnnotations()[reconciler.PausedAnnotation] }),
		predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return lost(entriesOf(fieldManager, e.ObjectOld), entriesOf(fieldManager, e.ObjectNew))
		}},
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

// writtenWithoutGeneration is a predicate that accepts every update of an object without a generation, such as a
// ConfigMap.
var writtenWithoutGeneration = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() == 0 && e.ObjectNew.GetGeneration() == 0 &&
		e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
}}

// Changed returns a predicate that accepts an update if the given function returns different values for the old and
// the new object.
func Changed(of func(client.Object) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(of(e.ObjectOld), of(e.ObjectNew))
	}}
}

// unrecorded is a predicate that accepts every update of an object without managed fields, such as an object that was
// created without a spec: the API server does not record the owners of such an object's later updates.
var unrecorded = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return len(e.ObjectOld.GetManagedFields()) == 0 && len(e.ObjectNew.GetManagedFields()) == 0
}}

// entriesOf returns the managed fields entries of a field manager, without their times.
func entriesOf(manager string, object client.Object) (entries []metav1.ManagedFieldsEntry) {
	for _, entry := range object.GetManagedFields() {
		if entry.Manager == manager {
			entry.Time = nil
			entries = append(entries, entry)
		}
	}
	return entries
}

// lost reports whether the first list of managed fields entries contains a field that is missing in the second list.
// If the lists are equal, as after most updates, they are not parsed.
func lost(before, after []metav1.ManagedFieldsEntry) bool {
	if len(after) == 0 || equality.Semantic.DeepEqual(before, after) {
		return len(after) < len(before)
	}
	was, err := fieldowners.Parse(before)
	if err != nil {
		return true // the reconcile finds out which fields are lost
	}
	is, err := fieldowners.Parse(after)
	return err != nil || len(fieldowners.Diff(was, is).Lost) > 0
}

// BesidesStatus returns a predicate that drops an update if it changes the result of the given function, usually the
// status of the object. It also drops an update that changes nothing, such as a resync. It accepts an update that
// changes only managed fields, even if the cache strips managed fields. After a broken watch, two writes may arrive as
// one update. If one of these writes changed the status, the predicate drops the update, and the other write is missed.
func BesidesStatus[T client.Object](status func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, same := e.ObjectNew.(T)
		return ok && same && before.GetResourceVersion() != after.GetResourceVersion() &&
			equality.Semantic.DeepEqual(status(before), status(after))
	}}
}

// ReasonLoop is the reason of the warning event on an object that is in an endless loop of changes (see apply.Loops).
const ReasonLoop = "ApplyLoop"

// loopEvents is an apply.Metrics that also records a warning event on an object in an endless loop of changes.
type loopEvents struct {
	apply.Metrics

	rt *Runtime
}

func (m loopEvents) ObserveApply(o apply.ApplyObservation) {
	if o.Loop != "" {
		m.rt.warn(o.Object, ReasonLoop, o.Loop)
	}
	m.Metrics.ObserveApply(o)
}

// warn records a warning event on an object.
func (rt *Runtime) warn(about apply.ObjectRef, reason, message string) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name, UID: about.UID}}
	object.SetGroupVersionKind(about.GroupVersionKind)
	reconciler.Event(rt.mgr.GetEventRecorder("coapply"), object, corev1.EventTypeWarning, reason, message)
}
