package apply_test

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	"coapply.dev/apply"
)

// canonical gives JSON with its keys in order.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// letGo is the deployment when hpa owns nothing of it any more.
func letGo(deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields = deployment.ManagedFields[1:]
	return deployment
}

// ownedBy is the deployment when someone else owns the replicas.
func ownedBy(manager string, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields[0].Manager = manager
	return deployment
}

// Each case is what follows on a first apply under which the replicas gave way.
func TestMemory(t *testing.T) {
	const (
		first  = 3 // requests of the first apply
		pinned = "PATCH uid=uid-1"
	)
	byOwner := apply.OnConflict(apply.Reject).When(apply.Match{Manager: "hpa"}, apply.Relinquish)
	for name, c := range map[string]struct {
		reason string
		policy apply.Policy
		next   *appsv1ac.DeploymentApplyConfiguration // threeReplicas unless given
		steps  []step
		action apply.Action
		err    error
		want   []string // conflicts
	}{
		"relinquished": {
			reason: "one request is enough for as long as the other owner stays",
			policy: relinquish, steps: []step{{pinned, ok(web("uid-1", "8"))}},
			action: apply.Unchanged, want: []string{relinquishedReplicas},
		},
		"shared": {
			reason: "so it is for a shared field",
			policy: share, steps: []step{{pinned, ok(web("uid-1", "8"))}},
			action: apply.Unchanged, want: []string{sharedReplicas},
		},
		"the owner lets go": {
			reason: "the answer shows it, and the whole intent follows at once",
			policy: relinquish, steps: []step{{pinned, ok(letGo(web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "10"))}},
			action: apply.Configured,
		},
		"the owner comes round to our value": {
			reason: "then there is nothing to give way in, and the field is co-owned",
			policy: relinquish,
			steps:  []step{{pinned, ok(withReplicas(ptr.To[int32](3), web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "10"))}},
			action: apply.Configured,
		},
		"another owner, whom the policy rejects": {
			reason: "the answer shows who owns it now",
			policy: byOwner,
			steps: []step{
				{pinned, ok(ownedBy("vpa", web("uid-1", "9")))},
				{"PATCH", conflict(cause(".spec.replicas", `"vpa" with subresource "scale" using apps/v1`))},
				{"GET", ok(ownedBy("vpa", web("uid-1", "9")))},
			},
			err: apply.ErrConflict, want: []string{"Reject .spec.replicas to 3: owned by vpa/Update[scale] with 5"},
		},
		"another intent under a policy that looks at owners": {
			reason: "nothing new may land before the owners are known",
			policy: byOwner, next: threeReplicas().WithLabels(map[string]string{"new": "label"}),
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "9"))},
			},
			action: apply.Configured, want: []string{relinquishedReplicas},
		},
		"another intent under a policy that looks at fields": {
			reason: "the field is known to be contested, whatever else is wanted",
			policy: relinquish, next: threeReplicas().WithLabels(map[string]string{"new": "label"}),
			steps:  []step{{pinned, ok(web("uid-1", "9"))}},
			action: apply.Configured, want: []string{relinquishedReplicas},
		},
		"the field is not wanted any more": {
			reason: "there is nothing to remember",
			policy: relinquish, next: appsv1ac.Deployment("web", "shop"),
			steps:  []step{{"PATCH", ok(web("uid-1", "8"))}},
			action: apply.Unchanged,
		},
		"another field becomes contested": {
			reason: "all is settled again",
			policy: relinquish, next: replicasAndPause(),
			steps: []step{
				{pinned, conflict(kubectlPause)}, {"PATCH", conflict(hpaReplicas, kubectlPause)},
				{"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "9"))},
			},
			action: apply.Configured, want: []string{"Relinquish .spec.paused to false: owned by kubectl/Apply with true", relinquishedReplicas},
		},
		"recreated": {
			reason: "the new object owes nothing to the earlier one's owners",
			policy: relinquish, steps: []step{{pinned, otherUID()}, {"PATCH", ok(web("uid-2", "1"))}},
			action: apply.Configured,
		},
		"deleted": {
			reason: "the whole intent creates it",
			policy: relinquish, steps: []step{{pinned, stale()}, {"PATCH", created(web("uid-2", "1"))}},
			action: apply.Created,
		},
		"what was left changes something, and the whole creates": {
			reason: "the last request that changes something says what was done",
			policy: relinquish, steps: []step{{pinned, ok(letGo(web("uid-1", "9")))}, {"PATCH", created(web("uid-2", "1"))}},
			action: apply.Created,
		},
		"what is left is refused": {
			reason: "the whole intent may be valid, as when the object lost the field that it needs",
			policy: relinquish, steps: []step{{pinned, invalid("required")}, {"PATCH", ok(web("uid-1", "9"))}},
			action: apply.Configured,
		},
		"the server fails": {
			reason: "that says nothing about the owners",
			policy: relinquish, steps: []step{{pinned, breaks(io.ErrUnexpectedEOF)}, {pinned, ok(web("uid-1", "8"))}},
			action: apply.Unchanged, want: []string{relinquishedReplicas},
		},
		"what was left changes something, the whole does not": {
			reason: "the apply did change something",
			policy: relinquish, next: threeReplicas().WithLabels(map[string]string{"new": "label"}),
			steps:  []step{{pinned, ok(letGo(web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "9"))}},
			action: apply.Configured,
		},
		"the value is gone": {
			reason: "an owner of nothing stands in nobody's way: all is settled again",
			policy: relinquish,
			steps:  []step{{pinned, ok(withReplicas(nil, web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "10"))}},
			action: apply.Configured,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			s := newScript(t, append([]step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {pinned, ok(web("uid-1", "8"))},
			}, c.steps...))
			applier := s.applier(c.policy, nil)
			if outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil || outcome.Requests != first {
				t.Fatalf("the first apply: %d requests, %v", outcome.Requests, err)
			}
			if c.next == nil {
				c.next = threeReplicas()
			}
			outcome, err := applier.Apply(t.Context(), apply.Intent{Config: c.next})
			if !errors.Is(err, c.err) || outcome.Action != c.action {
				t.Errorf("%s, %v; want %s, %v", outcome.Action, err, c.action, c.err)
			}
			if diff := cmp.Diff(c.want, texts(outcome.Conflicts)); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
			for _, conflict := range outcome.Conflicts {
				if remembered := c.action == apply.Unchanged || len(c.steps) == 1; conflict.Remembered != remembered {
					t.Errorf("%v: Remembered is %v", conflict, conflict.Remembered)
				}
			}
		})
	}
}

// Without a record of the exchange nobody can tell whether the owners still
// stand, so nothing is remembered.
func TestNoMemoryWithoutRecord(t *testing.T) {
	round := []step{
		{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))},
	}
	s := newScript(t, append(round, round...))
	applier := s.applierOver(s.restConfig(false), apply.Config{Policy: relinquish}, nil)
	for range 2 {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
			t.Fatal(err)
		}
	}
}

// coOwned is the deployment when another manager owns the replicas too.
func coOwned(manager string, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields = append(deployment.ManagedFields, entry(manager, "Apply", "", `{"f:spec":{"f:replicas":{}}}`))
	return deployment
}

// TestMemoryOfSeveralOwners: each owner is told, and one that joins may decide.
func TestMemoryOfSeveralOwners(t *testing.T) {
	const pinned = "PATCH uid=uid-1"
	vpa := cause(".spec.replicas", `"vpa"`)
	sharedWithVPA := "Share .spec.replicas to 3: owned by vpa/Apply with 5"
	byOwner := share.When(apply.Match{Manager: "vpa"}, apply.Relinquish)
	byForce := share.When(apply.Match{Manager: "vpa"}, apply.Force)
	for name, c := range map[string]struct {
		policy apply.Policy
		steps  []step
		want   [2][]string // conflicts of the first and of the second apply
	}{
		"two all along": {share, []step{
			{"PATCH", conflict(hpaReplicas, vpa)}, {"GET", ok(coOwned("vpa", web("uid-1", "7")))},
			{pinned, ok(coOwned("vpa", web("uid-1", "8")))}, {pinned, ok(coOwned("vpa", web("uid-1", "8")))},
		}, [2][]string{{sharedReplicas, sharedWithVPA}, {sharedReplicas, sharedWithVPA}}},
		"one joins": {share, []step{
			{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
			{pinned, ok(web("uid-1", "8"))}, {pinned, ok(coOwned("vpa", web("uid-1", "9")))},
		}, [2][]string{{sharedReplicas}, {sharedReplicas, sharedWithVPA}}},
		"one joins and is decided otherwise": {byOwner, []step{
			{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {pinned, ok(web("uid-1", "8"))},
			{pinned, ok(coOwned("vpa", web("uid-1", "9")))},
			{"PATCH", conflict(hpaReplicas, vpa)}, {"GET", ok(coOwned("vpa", web("uid-1", "9")))},
			{pinned, ok(coOwned("vpa", web("uid-1", "10")))},
		}, [2][]string{{sharedReplicas}, {sharedReplicas, "Relinquish .spec.replicas to 3: owned by vpa/Apply with 5"}}},
		"one would be forced": {byForce, []step{
			{"PATCH", conflict(hpaReplicas, vpa)}, {"GET", ok(coOwned("vpa", web("uid-1", "7")))},
			{pinned, ok(coOwned("vpa", web("uid-1", "8")))}, {pinned, ok(coOwned("vpa", web("uid-1", "8")))},
		}, [2][]string{{sharedReplicas}, {sharedReplicas}}},
	} {
		t.Run(name, func(t *testing.T) {
			applier := newScript(t, c.steps).applier(c.policy, nil)
			for i, want := range c.want {
				outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, texts(outcome.Conflicts)); diff != "" {
					t.Errorf("apply %d: conflicts (-want +got):\n%s", i+1, diff)
				}
			}
		})
	}
}
