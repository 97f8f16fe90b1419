package reconciler_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply/reconciler"
)

// known is what a recorder knows an event by.
type known struct{ resourceVersion, reason, action string }

// recorded counts events as client-go's recorder does.
type recorded map[known]int

func (r recorded) Eventf(regarding, _ runtime.Object, _, reason, action, _ string, _ ...any) {
	r[known{regarding.(*corev1.ConfigMap).ResourceVersion, reason, action}]++
}

// One trouble is one event that is counted, whatever was written to the object between;
// another trouble of the same reason is another event.
func TestEventsAreCounted(t *testing.T) {
	events := recorded{}
	for _, version := range []string{"1", "2", "3"} {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: version}}
		for _, note := range []string{"kubectl owns a", "kubectl owns b"} {
			reconciler.Event(events, object, corev1.EventTypeWarning, reconciler.ReasonOwnershipConflict, note)
		}
		if object.ResourceVersion != version {
			t.Error("the object was changed")
		}
	}
	if len(events) != 2 {
		t.Errorf("%d events of two troubles: %v", len(events), events)
	}
	for event, times := range events {
		if times != 3 || len(event.action) > 128 {
			t.Errorf("%v, %d times; want 3 times", event, times)
		}
	}
}
