package coapply

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/apply/reconciler"
)

// ReasonLoop is the reason of the event about an endless loop, see apply.Loop. The event is about
// the object that the applies of one field manager change again and again.
const ReasonLoop = "ApplyLoop"

// loopEvents is an apply.Metrics that also records an event for each loop. The event is about the
// object in the loop.
type loopEvents struct {
	apply.Metrics

	rt *Runtime
}

// ObserveApply implements apply.Metrics.
func (m loopEvents) ObserveApply(o apply.ApplyObservation) {
	if o.Loop != nil {
		m.rt.warn(o.Object, ReasonLoop, o.Loop.String())
	}
	m.Metrics.ObserveApply(o)
}

// breakerOpened records the event of an open breaker.
func (rt *Runtime) breakerOpened(open *breaker.OpenError) {
	rt.warn(open.Conflict.Object, breaker.ReasonFight, open.Message())
}

// warn records an event about an object that a field manager applies to.
func (rt *Runtime) warn(about apply.ObjectRef, reason, message string) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: about.Namespace, Name: about.Name, UID: about.UID}}
	object.SetGroupVersionKind(about.GroupVersionKind)
	reconciler.Event(rt.mgr.GetEventRecorder("coapply"), object, corev1.EventTypeWarning, reason, message)
}
