package coapply

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
)

// Relevant returns the predicate that a Builder uses for updates of a parent. An update passes if
// it changes the spec, the deletion timestamp, the pause annotation or a value that one of the
// functions in fields returns. An update also passes if the field manager no longer owns a status
// field or a finalizer. For a kind without a generation, such as ConfigMap, every update passes.
func Relevant[P client.Object](fieldManager string, fields ...func(P) any) predicate.Predicate {
	return relevantOr(lostFields(fieldManager), fields...)
}

func relevantOr[P client.Object](lost predicate.Predicate, fields ...func(P) any) predicate.Predicate {
	relevant := []predicate.Predicate{
		predicate.GenerationChangedPredicate{},
		writtenWithoutGeneration,
		Changed(func(object client.Object) any { return object.GetAnnotations()[reconciler.PausedAnnotation] }),
		lost,
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

// writtenWithoutGeneration is a predicate. It passes every update of an object whose kind has no
// generation, such as ConfigMap.
var writtenWithoutGeneration = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() == 0 && e.ObjectNew.GetGeneration() == 0 &&
		e.ObjectOld.GetResourceVersion() != e.ObjectNew.GetResourceVersion()
}}

// Changed returns a predicate for updates. An update passes if it changes the value that of returns.
func Changed(of func(client.Object) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(of(e.ObjectOld), of(e.ObjectNew))
	}}
}

// lostFields returns a predicate for updates. An update passes if the field manager owns fewer fields
// of the object than before: somebody removed a field, set it to another value, or took its ownership,
// or the field manager itself gave a field up. For an object without managed fields, for example one
// that was created without a spec, the API server does not record updates, and every update passes.
func lostFields(manager string) predicate.Predicate {
	return predicate.Or(lostRecorded(manager), unrecorded)
}

// unrecorded is a predicate. It passes every update of an object that has no managed fields.
var unrecorded = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return len(e.ObjectOld.GetManagedFields()) == 0 && len(e.ObjectNew.GetManagedFields()) == 0
}}

// lostRecorded is like lostFields, for a field manager that only applies and never updates. The API
// server records each apply, so an update of an object without managed fields does not pass.
func lostRecorded(manager string) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return lost(entriesOf(manager, e.ObjectOld), entriesOf(manager, e.ObjectNew))
	}}
}

func entriesOf(manager string, object client.Object) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(slices.Clone(object.GetManagedFields()), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager != manager
	})
}

// lost reports whether a field in the managed fields entries before is missing in the entries
// after. If the entries are equal, as in most updates, lost does not parse them.
func lost(before, after []metav1.ManagedFieldsEntry) bool {
	if len(after) == 0 {
		return len(before) > 0
	}
	if slices.EqualFunc(before, after, func(a, b metav1.ManagedFieldsEntry) bool {
		return a.APIVersion == b.APIVersion && a.FieldsV1.GetRawString() == b.FieldsV1.GetRawString()
	}) {
		return false
	}
	was, err := fieldowners.Parse(before)
	if err != nil {
		return true // a reconcile then finds the lost fields
	}
	is, err := fieldowners.Parse(after)
	return err != nil || len(fieldowners.Diff(was, is).Lost) > 0
}

// BesidesStatus returns a predicate for updates. An update passes if it changes the object and not
// the value that status returns, even if it changes only managed fields. (In a cache without
// managed fields, only the resourceVersion shows such an update.) After a broken watch, two writes
// may arrive as one update. If one of them changed the status, the update does not pass: the other
// write is missed.
func BesidesStatus[T client.Object](status func(T) any) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(T)
		after, same := e.ObjectNew.(T)
		return ok && same && before.GetResourceVersion() != after.GetResourceVersion() &&
			equality.Semantic.DeepEqual(status(before), status(after))
	}}
}

// ControllerChanged returns a predicate that passes an update after which the object has another
// controller owner reference, or none. Such an update does not change the generation.
func ControllerChanged() predicate.Predicate {
	return Changed(func(object client.Object) any { return metav1.GetControllerOf(object) })
}

// ReasonLoop is the reason of the warning event on an object that the applies of one field manager
// change again and again without end, see apply.Loops.
const ReasonLoop = "ApplyLoop"

// loopEvents is an apply.Metrics that also records a warning event on the object if an apply is
// found to be part of an endless loop.
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

// breakerOpened records a warning event on the object of a field for which the Breaker opens.
func (rt *Runtime) breakerOpened(open *breaker.OpenError) {
	rt.warn(open.Conflict.Object, breaker.ReasonFight, open.Message())
}

// warn records a warning event on an object.
func (rt *Runtime) warn(about apply.ObjectRef, reason, message string) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name, UID: about.UID}}
	object.SetGroupVersionKind(about.GroupVersionKind)
	reconciler.Event(rt.mgr.GetEventRecorder("coapply"), object, corev1.EventTypeWarning, reason, message)
}
