package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/internal/content"
	"coapply.dev/apply/internal/recent"
	"coapply.dev/fieldowners"
)

// TestSteadyGaveWay: for an intent that gave way nothing is sent either while the owners
// stay, and each of them is told of once.
func TestSteadyGaveWay(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	a.config.Policy = OnConflict(Relinquish)
	cache.deployment = applied(t, a) // replicas are the autoscaler's
	wanted := shop()
	wanted.Spec.WithReplicas(5)
	intent := Intent{Config: wanted}
	wantSteady(t, a, intent, false)

	encoded, err := encode(intent)
	if err != nil {
		t.Fatal(err)
	}
	live, err := content.Copy(cache.deployment)
	if err != nil {
		t.Fatal(err)
	}
	_, c := a.begin(t.Context())
	c.about(encoded)
	gave := concessions{}.concede(Conflict{
		Manager: fieldowners.Manager{Name: "autoscaler", Operation: metav1.ManagedFieldsOperationApply},
		Path:    fieldowners.MustParsePath(".spec.replicas"), ServerPath: ".spec.replicas", Decision: Relinquish,
	}, encoded, live)
	settled, still := c.stillCalledFor(settlement{concessions: gave}, live)
	if !still {
		t.Fatal("the replicas are not the autoscaler's")
	}
	c.rememberAs(settled.concessions, live.GetUID())
	a.config.Steady.written = recent.New[writtenKey, written](1) // the test's server never answers

	want := func(what string, remembered ...bool) {
		t.Helper()
		outcome, err := a.Apply(t.Context(), intent)
		if err != nil || outcome.Attempts > 0 || len(outcome.Conflicts) != len(remembered) {
			t.Fatalf("%s: %+v, %v", what, outcome, err)
		}
		for i, conflict := range outcome.Conflicts {
			if conflict.Remembered != remembered[i] {
				t.Errorf("%s: %v remembered: %v", what, conflict, conflict.Remembered)
			}
		}
	}
	want("the owner stays", true)
	joined := cache.deployment.DeepCopy()
	joined.ResourceVersion = "1001"
	joined.ManagedFields[1].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`) // the auditor's
	cache.deployment = joined
	want("another joins", false, true)
	want("nothing new", true, true)
	gone := joined.DeepCopy()
	gone.ResourceVersion, gone.ManagedFields = "1002", gone.ManagedFields[2:]
	cache.deployment = gone
	wantSteady(t, a, intent, false)
}
