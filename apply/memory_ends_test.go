package apply_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// gaveWay are the requests under which the replicas give way.
func gaveWay() []step {
	return []step{{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))}}
}

// TestWroteForgets: after a write by other means the whole intent is sent, and everything is
// settled anew.
func TestWroteForgets(t *testing.T) {
	applier := newScript(t, append(gaveWay(), gaveWay()...)).applier(relinquish, nil)
	for range 2 {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil {
			t.Fatal(err)
		}
		applier.Wrote(webAt("uid-1"))
	}
}

// TestMemoryIsOfOneObject: that web gave way says nothing about api.
func TestMemoryIsOfOneObject(t *testing.T) {
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

// TestMemoryOfWhatIsOursNow: where the cache shows that another process made a relinquished
// field ours, what was left of the intent would have the server remove it.
func TestMemoryOfWhatIsOursNow(t *testing.T) {
	for reason, c := range map[string]struct {
		policy apply.Policy
		fields string
		whole  bool
	}{
		"relinquished, and ours":     {relinquish, `{"f:spec":{"f:replicas":{}}}`, true},
		"relinquished, not that one": {relinquish, `{"f:spec":{"f:paused":{}}}`, false},
		"shared":                     {share, `{"f:spec":{"f:replicas":{}}}`, false},
	} {
		t.Run(reason, func(t *testing.T) {
			later := web("uid-1", "8")
			later.ManagedFields = append(later.ManagedFields, entry(manager, "Apply", "", c.fields))
			steps := gaveWay()
			steps[0].request, steps[2].answer = "PATCH uid=uid-1", ok(later)
			s := newScript(t, append(steps, step{"PATCH uid=uid-1", ok(later)}))
			cached := &cache{object: web("uid-1", "7")}
			applier := s.applier(c.policy, cached)
			for range 2 {
				if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true}); err != nil {
					t.Fatal(err)
				}
				cached.object = later
			}
			if last := s.bodies[len(s.bodies)-1]; strings.Contains(last, `"replicas":3`) != c.whole {
				t.Errorf("sent %s", last)
			}
		})
	}
}

// TestRememberedConflictsAreObservedOnce: metrics count what was decided, not what is known.
func TestRememberedConflictsAreObservedOnce(t *testing.T) {
	seen := &decisions{}
	s := newScript(t, append(gaveWay(), step{"PATCH uid=uid-1", ok(web("uid-1", "8"))}))
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
	apply.NoMetrics

	all []map[apply.Decision]int
}

func (d *decisions) ObserveApply(seen apply.ApplyObservation) { d.all = append(d.all, seen.Conflicts) }

// TestRejectionForgets: after a rejected conflict the next Apply begins with the whole intent.
func TestRejectionForgets(t *testing.T) {
	s := newScript(t, slices.Concat(gaveWay(), []step{
		{"PATCH uid=uid-1", conflict(kubectlPause)}, {"PATCH", conflict(hpaReplicas, kubectlPause)}, {"GET", ok(web("uid-1", "8"))},
	}, gaveWay()))
	applier := s.applier(relinquish.At(".spec.paused", apply.Reject), nil)
	for i, config := range []*appsv1ac.DeploymentApplyConfiguration{threeReplicas(), replicasAndPause(), threeReplicas()} {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); errors.Is(err, apply.ErrConflict) != (i == 1) {
			t.Errorf("apply %d: %v", i+1, err)
		}
	}
}

// TestMemoryOfARecreatedObject: where the cache shows another object, the whole intent is sent.
func TestMemoryOfARecreatedObject(t *testing.T) {
	steps := append(gaveWay(), step{"PATCH uid=uid-2", ok(web("uid-2", "2"))})
	steps[0].request = "PATCH uid=uid-1"
	cached := &cache{object: web("uid-1", "7")}
	applier := newScript(t, steps).applier(relinquish, cached)
	for range 2 {
		if _, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas(), MustExist: true}); err != nil {
			t.Fatal(err)
		}
		cached.object = web("uid-2", "1")
	}
}

// TestMemoryIsNoAnswerToWhoJoins: an owner who joins, and to whom the intent does not give way,
// is judged as any other.
func TestMemoryIsNoAnswerToWhoJoins(t *testing.T) {
	for want, policy := range map[error]apply.Policy{
		apply.ErrConflict: share.When(apply.Match{Manager: "vpa"}, apply.Reject),
		apply.ErrRefused:  share.Func(func(c apply.Conflict) (apply.Decision, bool) { return 42, c.Manager.Name == "vpa" }),
	} {
		joined := coOwned("vpa", web("uid-1", "9"))
		s := newScript(t, append(gaveWay(), []step{
			{"PATCH uid=uid-1", ok(joined)}, {"PATCH", conflict(hpaReplicas, cause(".spec.replicas", `"vpa"`))}, {"GET", ok(joined)},
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
