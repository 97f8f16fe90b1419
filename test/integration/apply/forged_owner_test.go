package apply

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/test/kit"
)

// forgeOwner has the Deployment's replicas be the forger's, in an entry that nobody can
// read but the API server.
func forgeOwner(t *testing.T, c client.Client, namespace, name string, n int32) {
	t.Helper()
	if err := c.Apply(t.Context(), kit.Replicas(name, namespace, n), client.FieldOwner("forger"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	forgeFields(t, c, namespace, name, `,"f:spec":{"f:replicas":{}}`)
}

// forgeFields rewrites the forger's entry; more are fields beside the ones that are too deep.
func forgeFields(t *testing.T, c client.Client, namespace, name, more string) {
	t.Helper()
	const levels = 1500
	deep := `{"f:metadata":{"f:annotations":{` + strings.Repeat(`"f:x":{`, levels) + strings.Repeat("}", levels) + `}}` + more + `}`
	before := kit.LiveAt(t, c, kit.DeploymentRef(namespace, name))
	after := before.DeepCopy()
	entries := after.GetManagedFields()
	for i := range entries {
		if entries[i].Manager == "forger" {
			entries[i].FieldsV1 = metav1.NewFieldsV1(deep)
		}
	}
	after.SetManagedFields(entries)
	if err := c.Patch(t.Context(), after, client.MergeFrom(before), client.FieldOwner("forger")); err != nil {
		t.Fatal(err)
	}
}

// TestGivingWayToAForgedOwner: only the server knows what an owner has whose fields cannot be read.
// So it is asked each time, and the field is taken when that owner lets go.
func TestGivingWayToAForgedOwner(t *testing.T) {
	t.Parallel()
	config := kit.RecordedConfig(t)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	for _, decision := range []apply.Decision{apply.Relinquish, apply.Share} {
		for _, steady := range []bool{false, true} {
			name := strings.ToLower(decision.String())
			if steady {
				name += "-steady"
			}
			t.Run(name, func(t *testing.T) { giveWayToAForgedOwner(t, config, namespace, name, decision, steady) })
		}
	}
}

func giveWayToAForgedOwner(t *testing.T, config *rest.Config, namespace, name string, decision apply.Decision, steady bool) {
	const want = 2 // applies at most
	c := kit.NewClient(t, config)
	options := apply.Config{FieldManager: "us", LiveReader: c, Policy: apply.OnConflict(decision)}
	if steady {
		options.Steady = kit.NewSteadyState(t, config, c)
	}
	us, err := apply.New(c, options)
	if err != nil {
		t.Fatal(err)
	}
	do := func() apply.Outcome {
		t.Helper()
		deployed := kit.Deployment(name, namespace, "v1")
		deployed.Spec.WithReplicas(3)
		outcome, err := us.Apply(t.Context(), apply.Intent{Config: deployed})
		if err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	do()
	forgeOwner(t, c, namespace, name, 5)
	if outcome := do(); outcome.Attempts > want || len(outcome.Conflicts) != 1 || len(outcome.Unread) != 1 {
		t.Errorf("the first time: %+v", outcome)
	}
	for range 2 {
		outcome := do()
		if outcome.Attempts > want || len(outcome.Unread) != 1 || len(outcome.Conflicts) != 1 || !outcome.Conflicts[0].Remembered {
			t.Errorf("again: %+v; want %d applies at most", outcome, want)
		}
		if n := kit.LiveReplicas(t, c, namespace, name); n != 5 {
			t.Fatalf("%d replicas, want 5", n)
		}
	}
	if err := c.Apply(t.Context(), appsv1ac.Deployment(name, namespace).WithLabels(map[string]string{"other": "x"}), client.FieldOwner("another")); err != nil {
		t.Fatal(err)
	}
	if outcome := do(); outcome.Attempts > want || len(outcome.Conflicts) != 1 {
		t.Errorf("after a write of others: %+v; want %d applies at most", outcome, want)
	}
	forgeFields(t, c, namespace, name, "") // still unreadable, and replicas are nobody's or ours
	if outcome := do(); len(outcome.Conflicts) > 0 || kit.LiveReplicas(t, c, namespace, name) != 3 {
		t.Errorf("it let go: %+v, %d replicas", outcome, kit.LiveReplicas(t, c, namespace, name))
	}
}

// TestUnreadableIsToldOnce: an entry that nobody can read is told of once, however often
// conflicts are judged beside it, and again when it changes.
func TestUnreadableIsToldOnce(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.RecordedConfig(t))
	namespace := kit.NewNamespace(t, c)
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "parent"}}
	if err := c.Create(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(64)
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
		Client: c, Applier: kit.NewApplier(t, c, "us", apply.Policy{}), Events: recorder,
		Emit: func(*corev1.ConfigMap) ([]apply.Intent, error) {
			deployed := kit.Deployment("child", namespace, "v1")
			deployed.Spec.WithReplicas(3)
			return []apply.Intent{{Config: deployed}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	reconcileTold := func(what string, want int) {
		t.Helper()
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)}); err != nil {
			t.Fatal(err)
		}
		told := 0
		for len(recorder.Events) > 0 {
			if event := <-recorder.Events; strings.Contains(event, reconciler.ReasonManagedFieldsUnreadable) {
				told++
			}
		}
		if told != want {
			t.Errorf("%s: told %d times, want %d", what, told, want)
		}
	}
	reconcileTold("at first", 0)
	forgeOwner(t, c, namespace, "child", 5)
	reconcileTold("forged", 1)
	if err := c.Apply(t.Context(), appsv1ac.Deployment("child", namespace).WithLabels(map[string]string{"other": "x"}), client.FieldOwner("another")); err != nil {
		t.Fatal(err)
	}
	reconcileTold("the same at another place of the list", 0)
	reconcileTold("again", 0)
	if err := c.Apply(t.Context(), kit.Replicas("child", namespace, 3), client.FieldOwner("forger"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	reconcileTold("it can be read", 0)
	forgeOwner(t, c, namespace, "child", 5)
	reconcileTold("forged anew", 1)
}
