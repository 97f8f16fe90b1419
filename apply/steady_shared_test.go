package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSteadyShared: in the steady state, too, it is told who shares a field, as of the
// object that was read last.
func TestSteadyShared(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	want := func(what string, shared int) {
		t.Helper()
		outcome, err := a.Apply(t.Context(), Intent{Config: shop()})
		if err != nil || outcome.Action != Unchanged || outcome.Attempts > 0 || len(outcome.Shared) != shared {
			t.Errorf("%s: %+v, %v; want %d shared and nothing sent", what, outcome, err, shared)
		}
	}
	want("as it was", 0)
	joined := cache.deployment.DeepCopy()
	joined.ResourceVersion = "1001"
	joined.ManagedFields = append(joined.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:revisionHistoryLimit":{}}}`)})
	left := cache.deployment.DeepCopy()
	left.ResourceVersion = "1002"
	cache.deployment = joined
	want("kubectl sets the same value", 1)
	want("and again, at the same version", 1)
	a.config.Policy = Policy{}.Func(func(conflict Conflict) (Decision, bool) {
		t.Errorf("the policy was asked about %v, and nothing conflicts", conflict)
		return Reject, true
	})
	want("where a function decides", 0)
	a.config.Policy = Policy{}
	cache.deployment = left
	want("kubectl let go", 0)
}
