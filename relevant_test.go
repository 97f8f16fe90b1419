package coapply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestLostFinalizerIsRelevant: a parent that lost the controller's finalizer is reconciled, also
// if the managed fields do not name the controller as the finalizer's owner.
func TestLostFinalizerIsRelevant(t *testing.T) {
	const ours = "example.com/cleanup"
	parent := func(finalizers ...string) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 1, Finalizers: finalizers, ManagedFields: []metav1.ManagedFieldsEntry{{
			Manager: "ancient-changes", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{}}}`),
		}}}}
	}
	b := (&Builder[*appsv1.Deployment]{fieldManager: "us"}).Finalizer(ours, nil)
	changed := func(now *appsv1.Deployment) *appsv1.Deployment {
		now.ResourceVersion = "2"
		return now
	}
	for _, test := range []struct {
		reason   string
		old, now *appsv1.Deployment
		want     bool
	}{
		{"our finalizer is removed", parent(ours, "example.com/other"), changed(parent("example.com/other")), true},
		{"another finalizer is removed", parent(ours, "example.com/other"), changed(parent(ours)), false},
		{"a resync of the cache", parent(ours), parent(ours), true},
	} {
		if got := b.relevant().Update(event.UpdateEvent{ObjectOld: test.old, ObjectNew: test.now}); got != test.want {
			t.Errorf("%s: relevant is %v, want %v", test.reason, got, test.want)
		}
	}
}
