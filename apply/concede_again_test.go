package apply_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
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

// TestGivingWayAgain: what follows on a first Apply under which the replicas gave way. Without a
// cache the object is read first.
func TestGivingWayAgain(t *testing.T) {
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
		isNew  bool     // they are not those of the first apply
	}{
		"relinquished": {
			reason: "the object shows what is conceded",
			policy: relinquish, steps: []step{{"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "8"))}},
			action: apply.Unchanged, want: []string{relinquishedReplicas},
		},
		"shared": {
			reason: "so it is for a shared field",
			policy: share, steps: []step{{"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "8"))}},
			action: apply.Unchanged, want: []string{sharedReplicas},
		},
		"the owner lets go": {
			reason: "the whole intent follows at once",
			policy: relinquish, steps: []step{{"GET", ok(letGo(web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "10"))}},
			action: apply.Configured,
		},
		"the owner comes round to our value": {
			reason: "then there is nothing to give way in, and the field is co-owned",
			policy: relinquish,
			steps:  []step{{"GET", ok(withReplicas(ptr.To[int32](3), web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "10"))}},
			action: apply.Configured,
		},
		"another owner, whom the policy rejects": {
			reason: "the server is to confirm it",
			policy: byOwner,
			steps: []step{
				{"GET", ok(ownedBy("vpa", web("uid-1", "9")))},
				{"PATCH", conflict(cause(".spec.replicas", `"vpa" with subresource "scale" using apps/v1`))},
			},
			err: apply.ErrConflict, want: []string{"Reject .spec.replicas to 3: owned by vpa/Update[scale] with 5"}, isNew: true,
		},
		"another intent": {
			reason: "the field is contested, whatever else is wanted",
			policy: byOwner, next: threeReplicas().WithLabels(map[string]string{"new": "label"}),
			steps:  []step{{"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "9"))}},
			action: apply.Configured, want: []string{relinquishedReplicas},
		},
		"the field is not wanted any more": {
			reason: "there is nothing to give way in",
			policy: relinquish, next: appsv1ac.Deployment("web", "shop"),
			steps:  []step{{"GET", ok(web("uid-1", "8"))}, {"PATCH", ok(web("uid-1", "8"))}},
			action: apply.Unchanged,
		},
		"another field becomes contested": {
			reason: "the read shows it, too",
			policy: relinquish, next: replicasAndPause(),
			steps:  []step{{"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "9"))}},
			action: apply.Configured, want: []string{"Relinquish .spec.paused to false: owned by kubectl/Apply with true", relinquishedReplicas},
			isNew: true,
		},
		"recreated with the same owner": {
			reason: "the new object is read",
			policy: relinquish, steps: []step{{"GET", ok(web("uid-2", "1"))}, {"PATCH uid=uid-2", ok(web("uid-2", "2"))}},
			action: apply.Configured, want: []string{relinquishedReplicas}, isNew: true,
		},
		"deleted": {
			reason: "the whole intent creates it",
			policy: relinquish, steps: []step{{"GET", notFound()}, {"PATCH", created(web("uid-2", "1"))}},
			action: apply.Created,
		},
		"the server fails": {
			reason: "the next try reads again",
			policy: relinquish, steps: []step{
				{"GET", ok(web("uid-1", "8"))}, {pinned, breaks(io.ErrUnexpectedEOF)}, {"GET", ok(web("uid-1", "8"))}, {pinned, ok(web("uid-1", "8"))},
			},
			action: apply.Unchanged, want: []string{relinquishedReplicas},
		},
		"the value is gone": {
			reason: "an owner of nothing stands in nobody's way",
			policy: relinquish,
			steps:  []step{{"GET", ok(withReplicas(nil, web("uid-1", "9")))}, {"PATCH", ok(web("uid-1", "10"))}},
			action: apply.Configured,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			s := newScript(t, append(gaveWay(), c.steps...))
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
			isNew := func(conflict apply.Conflict) bool { return !conflict.Remembered }
			if got := slices.ContainsFunc(outcome.Conflicts, isNew); got != c.isNew {
				t.Errorf("a conflict is new: %v, want %v", got, c.isNew)
			}
		})
	}
}

// TestGivingWayByTheCache: an object that was read anyway shows what to concede. The one request
// is pinned to it.
func TestGivingWayByTheCache(t *testing.T) {
	const pinned = "PATCH uid=uid-1 resourceVersion=8"
	for reason, c := range map[string]struct {
		policy apply.Policy
		steps  []step
		want   []string
	}{
		"relinquished": {relinquish, []step{{pinned, ok(web("uid-1", "9"))}}, []string{relinquishedReplicas}},
		"shared":       {share, []step{{pinned, ok(web("uid-1", "9"))}}, []string{sharedReplicas}},
		"the cache is behind": {relinquish, []step{
			{pinned, stale()}, {"GET", ok(web("uid-1", "9"))}, {"PATCH uid=uid-1", ok(web("uid-1", "10"))},
		}, []string{relinquishedReplicas}},
		"the cache is behind, and the owner has let go": {relinquish, []step{
			{pinned, stale()}, {"GET", ok(letGo(web("uid-1", "9")))}, {"PATCH uid=uid-1", ok(web("uid-1", "10"))},
		}, nil},
		"rejected": {apply.Policy{}, []step{
			{"PATCH uid=uid-1", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "8"))},
		}, []string{"Reject .spec.replicas to 3: owned by hpa/Update[scale] with 5"}},
	} {
		s := newScript(t, c.steps)
		applier := s.applierOver(s.restConfig(true), apply.Config{Policy: c.policy}, cache{object: web("uid-1", "8")})
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true})
		if diff := cmp.Diff(c.want, texts(outcome.Conflicts)); diff != "" || (err != nil) != (reason == "rejected") {
			t.Errorf("%s: %v (-want +got):\n%s", reason, err, diff)
		}
	}
}

// coOwned is the deployment when another manager owns the replicas too.
func coOwned(manager string, deployment *appsv1.Deployment) *appsv1.Deployment {
	deployment.ManagedFields = append(deployment.ManagedFields, entry(manager, "Apply", "", `{"f:spec":{"f:replicas":{}}}`))
	return deployment
}

// TestSeveralOwners: each owner is reported, and one that joins may decide.
func TestSeveralOwners(t *testing.T) {
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
			{pinned, ok(coOwned("vpa", web("uid-1", "8")))},
			{"GET", ok(coOwned("vpa", web("uid-1", "8")))}, {pinned, ok(coOwned("vpa", web("uid-1", "8")))},
		}, [2][]string{{sharedReplicas, sharedWithVPA}, {sharedReplicas, sharedWithVPA}}},
		"one joins": {share, []step{
			{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))},
			{pinned, ok(web("uid-1", "8"))},
			{"GET", ok(coOwned("vpa", web("uid-1", "9")))}, {pinned, ok(coOwned("vpa", web("uid-1", "9")))},
		}, [2][]string{{sharedReplicas}, {sharedReplicas, sharedWithVPA}}},
		"one joins and is decided otherwise": {byOwner, []step{
			{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {pinned, ok(web("uid-1", "8"))},
			{"GET", ok(coOwned("vpa", web("uid-1", "9")))},
			{pinned, ok(coOwned("vpa", web("uid-1", "10")))},
		}, [2][]string{{sharedReplicas}, {sharedReplicas, "Relinquish .spec.replicas to 3: owned by vpa/Apply with 5"}}},
		"one would be forced": {byForce, []step{
			{"PATCH", conflict(hpaReplicas, vpa)}, {"GET", ok(coOwned("vpa", web("uid-1", "7")))},
			{pinned, ok(coOwned("vpa", web("uid-1", "8")))},
			{"GET", ok(coOwned("vpa", web("uid-1", "8")))}, {pinned, ok(coOwned("vpa", web("uid-1", "8")))},
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

// gaveWay are the requests under which the replicas give way.
func gaveWay() []step {
	return []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}}
}

// TestGivingWayIsOfOneObject: that web gave way says nothing about api.
func TestGivingWayIsOfOneObject(t *testing.T) {
	other := web("uid-2", "8")
	other.Name = "api"
	applier := newScript(t, append(gaveWay(), step{"PATCH", ok(other)})).applier(relinquish, nil)
	api := appsv1ac.Deployment("api", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3))
	for _, config := range []*appsv1ac.DeploymentApplyConfiguration{threeReplicas(), api} {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRememberedConflictsAreObservedOnce: metrics count what is new.
func TestRememberedConflictsAreObservedOnce(t *testing.T) {
	seen := &decisions{}
	s := newScript(t, append(gaveWay(), step{"GET", ok(web("uid-1", "8"))}, step{"PATCH uid=uid-1", ok(web("uid-1", "8"))}))
	applier := s.applierOver(s.restConfig(true), apply.Config{Policy: relinquish, Metrics: seen}, nil)
	for range 2 {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen.all) != 2 || seen.all[0][apply.Relinquish] != 1 || seen.all[1][apply.Relinquish] != 0 {
		t.Errorf("observed %v", seen.all)
	}
}

type decisions struct {
	ignoredUpdates

	all []map[apply.Decision]int
}

func (d *decisions) ObserveApply(seen apply.ApplyObservation) { d.all = append(d.all, seen.Conflicts) }

// TestAnOwnerJoins: an owner who joins, and to whom the intent does not give way, is judged as
// any other.
func TestAnOwnerJoins(t *testing.T) {
	for want, policy := range map[error]apply.Policy{
		apply.ErrConflict: share.When(apply.Match{Manager: "vpa"}, apply.Reject),
		apply.ErrRefused:  share.Func(func(c apply.Conflict) (apply.Decision, bool) { return 42, c.Manager.Name == "vpa" }),
	} {
		joined := coOwned("vpa", web("uid-1", "9"))
		s := newScript(t, append(gaveWay(), []step{
			{"GET", ok(joined)}, {"PATCH", conflict(hpaReplicas, cause(".spec.replicas", `"vpa"`))},
		}...))
		applier := s.applier(policy, nil)
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
			t.Fatal(err)
		}
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
