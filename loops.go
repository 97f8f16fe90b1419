package coapply

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
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
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.Object.Namespace, Name: o.Object.Name, UID: o.Object.UID}}
		object.SetGroupVersionKind(o.Kind)
		reconciler.Event(m.rt.mgr.GetEventRecorder("coapply"), object, corev1.EventTypeWarning, ReasonLoop, o.Loop.String())
	}
	m.Metrics.ObserveApply(o)
}
