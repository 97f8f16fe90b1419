package apply_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

// TestBefore is called once before the first request, and may refuse.
func TestBefore(t *testing.T) {
	refused := errors.New("not now")
	called := 0
	before := func(err error) func(context.Context) (context.Context, error) {
		return func(ctx context.Context) (context.Context, error) { called++; return ctx, err }
	}
	intent := apply.Intent{Config: threeReplicas()}
	refuse := wire.BeforeSending(t.Context(), before(refused))
	if _, err := newScript(t, nil).applier(force, nil).Apply(refuse, intent); !errors.Is(err, refused) || called != 1 {
		t.Errorf("%v, called %d times; nothing may be sent", err, called)
	}
	s := newScript(t, []step{{"GET", notFound()}, {"PATCH", ok(ownedWith("uid-9", "", 3))}})
	if _, err := s.planner(apply.Config{}, true).Plan(refuse, intent); err != nil || called != 1 {
		t.Errorf("a plan: %v, called %d times", err, called)
	}
	s = newScript(t, []step{
		{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH", conflict(hpaReplicas)},
		{"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))},
	})
	if _, err := s.applier(force, nil).Apply(wire.BeforeSending(t.Context(), before(nil)), intent); err != nil || called != 2 {
		t.Errorf("%v, called %d times, want once more", err, called)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	other := wire.BeforeSending(t.Context(), func(context.Context) (context.Context, error) { return ended, nil })
	if _, err := newScript(t, nil).applier(force, nil).Apply(other, intent); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on with another context: %v", err)
	}
}

// TestSubresourceErrorsSayMore: what a 404 and a 400 may mean there.
func TestSubresourceErrorsSayMore(t *testing.T) {
	const isThere, takesBody = `its kind may have no subresource "status"`, "give an object of that kind as Intent.Body"
	config := appsv1ac.Deployment("web", "shop").WithStatus(appsv1ac.DeploymentStatus().WithReplicas(1))
	for reason, c := range map[string]struct {
		subresource string
		err         *apierrors.StatusError
		says        string
	}{
		"404":               {"status", apierrors.NewNotFound(deployments, ""), isThere},
		"400":               {"status", apierrors.NewBadRequest("wrong kind"), takesBody},
		"403":               {"status", apierrors.NewForbidden(deployments, "web", nil), ""},
		"404 of the object": {"", apierrors.NewNotFound(deployments, ""), ""},
		"400 of the object": {"", apierrors.NewBadRequest("wrong kind"), ""},
	} {
		steps := []step{{"PATCH", fail(c.err)}}
		if apierrors.IsNotFound(c.err) {
			steps = append(steps, step{"GET", ok(web("uid-1", "7"))})
		}
		_, err := newScript(t, steps).applier(force, nil).
			Apply(t.Context(), apply.Intent{Config: config, Subresource: c.subresource})
		if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", reason, err, c.says)
		}
		for _, hint := range []string{isThere, takesBody} {
			if c.says == "" && strings.Contains(err.Error(), hint) {
				t.Errorf("%s: it says %q: %v", reason, hint, err)
			}
		}
	}
}

// TestNotTriedAgain: where the server is too busy, or says how long to wait, client-go has
// tried for as long as it makes sense.
func TestNotTriedAgain(t *testing.T) {
	unavailable := apierrors.NewServiceUnavailable("no leader")
	unavailable.ErrStatus.Details = nil
	waits := apierrors.NewServerTimeout(deployments, "patch", 1)
	run(t, map[string]testCase{
		"too busy": {
			reason: "a 429 without a time", steps: []step{{"PATCH", fail(apierrors.NewTooManyRequests("busy", 0))}},
			attempts: 1, err: apply.ErrRetryable,
		},
		"named a wait": {
			reason: "eleven requests of client-go, one apply", steps: slices.Repeat([]step{{"PATCH", fail(waits)}}, 11),
			attempts: 1, err: apply.ErrRetryable,
		},
		"passes": {
			reason: "neither: three tries", steps: slices.Repeat([]step{{"PATCH", fail(unavailable)}}, 3),
			attempts: 3, err: apply.ErrRetryable,
		},
	})
}

// TestErrorsNameTheObject that was meant.
func TestErrorsNameTheObject(t *testing.T) {
	s := newScript(t, []step{{"PATCH uid=uid-0", otherUID()}})
	_, err := s.applier(force, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas(), UID: "uid-0"})
	if mismatch, ok := errors.AsType[*apply.UIDMismatchError](err); !ok || mismatch.Object.UID != "uid-0" || mismatch.Object.Name != "web" {
		t.Errorf("%#v", err)
	}
	s = newScript(t, []step{{"PATCH uid=uid-0", stale()}, {"GET", fail(apierrors.NewForbidden(deployments, "web", nil))}})
	if _, err := s.applier(force, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas(), UID: "uid-0"}); !errors.Is(err, apply.ErrRefused) {
		t.Errorf("nobody may look: %v", err)
	}
	_, err = newScript(t, nil).applier(force, nil).Apply(t.Context(), apply.Intent{Config: appsv1ac.Deployment("web", "")})
	if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), "a namespace is needed") {
		t.Errorf("no namespace: %v", err)
	}
}

// TestBelongsIsGivenTheGoType, though the live read is unstructured.
func TestBelongsIsGivenTheGoType(t *testing.T) {
	s := newScript(t, []step{
		{"PATCH resourceVersion=1", stale()}, {"GET", ok(bornOurs("uid-1", "7"))}, {"PATCH uid=uid-1", ok(bornOurs("uid-1", "8"))},
	})
	belongs := func(object client.Object) bool {
		_, typed := object.(*appsv1.Deployment)
		return typed && isBornOurs(object)
	}
	if _, err := s.applier(force, cache{}).Apply(t.Context(), apply.Intent{Config: threeReplicas(), Belongs: belongs}); err != nil {
		t.Error(err)
	}
}

// TestFieldOfAnotherName: what the owner's version names otherwise cannot be left out, only
// forced.
func TestFieldOfAnotherName(t *testing.T) {
	other := cause(".spec.size", `"hpa" with subresource "scale" using apps/v1`)
	live := web("uid-1", "7")
	live.ManagedFields[0] = entry("hpa", "Update", "scale", `{"f:spec":{"f:size":{}}}`)
	const text = ".spec.size, which has another name in the intent: owned by hpa/Update[scale] at apps/v1 with null"
	run(t, map[string]testCase{
		"relinquished": {
			reason: "there is nothing to leave out", policy: relinquish, steps: []step{{"PATCH", conflict(other)}, {"GET", ok(live)}},
			attempts: 1, err: apply.ErrConflict, conflicts: []string{"Reject " + text},
		},
		"forced": {
			reason: "force does not need the name", policy: force, attempts: 3, action: apply.Configured, conflicts: []string{"Force " + text},
			steps: []step{{"PATCH", conflict(other)}, {"GET", ok(live)}, {"PATCH", conflict(other)}, {"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))}},
		},
		"two owners of one name": {
			reason: "each is told", policy: share, attempts: 2, action: apply.Configured,
			conflicts: []string{"Share .spec.replicas to 3: owned by hpa/Apply with 5", "Share .spec.replicas to 3: owned by hpa/Update with 5", sharedReplicas},
			steps: []step{
				{"PATCH", conflict(hpaReplicas, cause(".spec.replicas", `"hpa"`), cause(".spec.replicas", `"hpa" using apps/v1`))},
				{"GET", ok(ownedThrice())}, {"PATCH uid=uid-1", ok(ownedThrice())},
			},
		},
	})
	unknown := cause(".spec.nothing", `"nobody" using apps/v1`)
	s := newScript(t, []step{{"PATCH", conflict(unknown)}, {"GET", ok(web("uid-1", "7"))}})
	outcome, err := s.applier(apply.Policy{}, nil).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if !errors.Is(err, apply.ErrConflict) || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Ours != nil || outcome.Conflicts[0].Theirs != nil {
		t.Errorf("%+v, %v: no value belongs to a field that is not known", outcome.Conflicts, err)
	}
}

// ownedThrice has one name own the replicas in three ways.
func ownedThrice() *appsv1.Deployment {
	d := web("uid-1", "7")
	d.ManagedFields = append(d.ManagedFields,
		entry("hpa", "Apply", "", `{"f:spec":{"f:replicas":{}}}`), entry("hpa", "Update", "", `{"f:spec":{"f:replicas":{}}}`))
	return d
}

// TestOwnConflicts: with another entry of our own name nobody gives way to himself.
func TestOwnConflicts(t *testing.T) {
	byUpdate := cause(".spec.replicas", `"`+manager+`" using apps/v1`)
	throughScale := cause(".spec.replicas", `"`+manager+`" with subresource "scale"`)
	update, scale := web("uid-1", "7"), web("uid-1", "7")
	update.ManagedFields[0] = entry(manager, "Update", "", `{"f:spec":{"f:replicas":{}}}`)
	scale.ManagedFields[0] = entry(manager, "Apply", "scale", `{"f:spec":{"f:replicas":{}}}`)
	itself := ".spec.replicas to 3: owned by " + manager + " itself (by "
	rejected := func(policy apply.Policy) testCase {
		return testCase{
			reason: "by Update", policy: policy, steps: []step{{"PATCH", conflict(byUpdate)}, {"GET", ok(update)}},
			attempts: 1, err: apply.ErrConflict, conflicts: []string{"Reject " + itself + "Update) with 5"},
		}
	}
	forced := func(live step, by answer) []step {
		return []step{{"PATCH", by}, live, {"PATCH", by}, {"PATCH uid=uid-1 resourceVersion=7 force", ok(web("uid-1", "8"))}}
	}
	run(t, map[string]testCase{
		"relinquished": rejected(relinquish),
		"shared":       rejected(share),
		"rejected":     rejected(apply.Policy{}),
		"forced": {
			reason: "the policy may", policy: force, steps: forced(step{"GET", ok(update)}, conflict(byUpdate)),
			attempts: 3, action: apply.Configured, conflicts: []string{"Force " + itself + "Update) with 5"},
		},
		"applied through a subresource": {
			reason: "an apply of the object takes it, whatever the policy says", steps: forced(step{"GET", ok(scale)}, conflict(throughScale)),
			attempts: 3, action: apply.Configured, conflicts: []string{"Force " + itself + "Apply through scale) with 5"},
		},
	})
}
