package nodemaintenance

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
)

// TestToldOnce: work that ended tells so once, also when somebody removes its conditions,
// which are then written again.
func TestToldOnce(t *testing.T) {
	for _, test := range []struct {
		reason string
		remove func(*v1alpha1.NodeMaintenance)
	}{
		{"all conditions", func(w *v1alpha1.NodeMaintenance) { w.Status.Conditions = nil }},
		{"Complete", func(w *v1alpha1.NodeMaintenance) {
			meta.RemoveStatusCondition(&w.Status.Conditions, v1alpha1.ConditionComplete)
		}},
		{"Ready", func(w *v1alpha1.NodeMaintenance) {
			meta.RemoveStatusCondition(&w.Status.Conditions, v1alpha1.ConditionReady)
		}},
	} {
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		work := someWork(v1alpha1.Uncordon, "")
		work.ObjectMeta = metav1.ObjectMeta{Name: "none", UID: "none", Generation: 1}
		work.Spec.NodeSelector = &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"a": "b"}}
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(work).WithStatusSubresource(work).Build()
		updater, err := update.New(update.Config{Client: c, LiveReader: c, FieldManager: "test"})
		if err != nil {
			t.Fatal(err)
		}
		told := events.NewFakeRecorder(10)
		r := &Reconciler{client: c, live: listing{}, status: updater, events: told}
		ends := func() *v1alpha1.NodeMaintenance {
			t.Helper()
			for range 3 {
				if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "none"}}); err != nil {
					t.Fatal(err)
				}
			}
			var now v1alpha1.NodeMaintenance
			if err := c.Get(t.Context(), client.ObjectKey{Name: "none"}, &now); err != nil {
				t.Fatal(err)
			}
			if !isComplete(&now) || !isTold(&now) {
				t.Errorf("%s: %+v", test.reason, now.Status)
			}
			return &now
		}
		ended := ends()
		test.remove(ended)
		if err := c.Status().Update(t.Context(), ended); err != nil {
			t.Fatal(err)
		}
		ends()
		if n := len(told.Events); n != 1 {
			t.Errorf("%s: %d events, want one", test.reason, n)
		}
	}
}
