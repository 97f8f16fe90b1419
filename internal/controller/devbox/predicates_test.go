package devbox

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply/reconciler"
)

func TestWorthReconciling(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.Devbox)
		want   bool
	}{
		{"the spec changed", func(b *v1alpha1.Devbox) { b.Generation++ }, true},
		{"new content", func(b *v1alpha1.Devbox) { b.Status.ContentID = "content-2" }, true},
		{"paused or no longer", func(b *v1alpha1.Devbox) {
			b.Annotations = map[string]string{reconciler.PausedAnnotation: "true"}
		}, true},
		{"another reconciler wrote its part of the status", func(b *v1alpha1.Devbox) {
			b.Status.Phase = v1alpha1.PhaseRunning
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNetworkApplied}}
			b.ResourceVersion = "2"
		}, false},
		{"somebody's annotation", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"example.com/note": "x"} }, false},
		{"a finalizer came", func(b *v1alpha1.Devbox) { b.Finalizers = []string{Finalizer} }, false},
	} {
		update := event.UpdateEvent{ObjectOld: sample(), ObjectNew: with(test.change)}
		if got := worthReconciling().Update(update); got != test.want {
			t.Errorf("%s: reconciles is %t", test.reason, got)
		}
	}
}
