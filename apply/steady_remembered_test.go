package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply/internal/steady"
	"coapply.dev/internal/recent"
)

// TestSteadyIsRemembered: what was proven is not proven again, nor after a write of another
// manager's.
func TestSteadyIsRemembered(t *testing.T) {
	cache := &shopCache{}
	a := newShopApplier(t, cache)
	cache.deployment = applied(t, a)
	live := cache.deployment
	live.ManagedFields[2].FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:revisionHistoryLimit":{}}}`)
	intent := Intent{Config: appsv1ac.Deployment(live.Name, live.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().WithRevisionHistoryLimit(*live.Spec.RevisionHistoryLimit))}
	apply := func() {
		outcome, err := a.Apply(t.Context(), intent)
		if err != nil || outcome.Action != Unchanged || outcome.Attempts != 0 {
			t.Fatalf("%+v, %v", outcome, err)
		}
		if outcome.Object.UID != live.UID || outcome.Object.ResourceVersion != cache.deployment.ResourceVersion {
			t.Fatalf("of %+v", outcome.Object)
		}
	}
	proof := testing.AllocsPerRun(10, func() {
		a.config.Steady.proven = recent.New[steady.Key, *proven](rememberedIntents)
		apply()
	})
	if again := testing.AllocsPerRun(10, apply); again*10 > proof {
		t.Errorf("%v allocations for the same object, and %v for the proof", again, proof)
	}
	versions := []*appsv1.Deployment{live.DeepCopy(), live.DeepCopy()}
	versions[0].ResourceVersion, versions[1].ResourceVersion = "1001", "1002"
	turn := 0
	other := testing.AllocsPerRun(10, func() {
		turn++
		cache.deployment = versions[turn%2]
		apply()
	})
	if again := testing.AllocsPerRun(10, apply); again >= other || other*4 > proof {
		t.Errorf("%v allocations for the version seen last, %v for another one, and %v for the proof", again, other, proof)
	}
}
