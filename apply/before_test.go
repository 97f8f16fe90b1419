package apply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

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
	w := newWorld(t)
	if _, err := w.applier(force).Apply(refuse, intent); !errors.Is(err, refused) || called != 1 {
		t.Errorf("%v, called %d times; nothing may be sent", err, called)
	}
	w.WantSent()
	if _, err := w.applier(apply.Policy{}).Plan(refuse, intent); err != nil || called != 1 {
		t.Errorf("a plan: %v, called %d times", err, called)
	}
	if _, err := w.applier(force).Apply(wire.BeforeSending(t.Context(), before(nil)), intent); err != nil || called != 2 {
		t.Errorf("%v, called %d times, want once more", err, called)
	}
	w.Forget()
	ended, end := context.WithCancel(t.Context())
	end()
	other := wire.BeforeSending(t.Context(), func(context.Context) (context.Context, error) { return ended, nil })
	if _, err := w.applier(force).Apply(other, intent); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on with another context: %v", err)
	}
	w.WantSent()
}

// TestSubresourceErrorsSayMore: what a 404 and a 400 may mean there.
func TestSubresourceErrorsSayMore(t *testing.T) {
	const isThere, takesBody = `its kind may lack subresource "status"`, "give an object of that kind as Intent.Body"
	for reason, c := range map[string]struct {
		subresource string
		err         *apierrors.StatusError
		says        string
	}{
		"404":               {"status", apierrors.NewNotFound(deployments, ""), isThere},
		"400":               {"status", apierrors.NewBadRequest("wrong kind"), takesBody},
		"403":               {"status", forbidden, ""},
		"404 of the object": {"", apierrors.NewNotFound(deployments, ""), ""},
		"400 of the object": {"", apierrors.NewBadRequest("wrong kind"), ""},
	} {
		w := newWorld(t)
		always(c.err)(w)
		_, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: statusOf(1), Subresource: c.subresource})
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

// TestErrorsNameTheObject that was meant.
func TestErrorsNameTheObject(t *testing.T) {
	w := newWorld(t, kubectl)
	_, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: threeReplicas(), UID: "uid-0"})
	if mismatch, ok := errors.AsType[*apply.UIDMismatchError](err); !ok || mismatch.Object.UID != "uid-0" || mismatch.Object.Name != "web" {
		t.Errorf("%#v", err)
	}
	w.Remove()
	w.Forget()
	w.Answer(2, forbidden)
	if _, err := w.applier(force).Apply(t.Context(), apply.Intent{Config: threeReplicas(), UID: "uid-0"}); !errors.Is(err, apply.ErrRefused) {
		t.Errorf("nobody may look: %v", err)
	}
	w.WantSent(pinned, read)
	_, err = w.applier(force).Apply(t.Context(), apply.Intent{Config: appsv1ac.Deployment("web", "")})
	if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), "a namespace is needed") {
		t.Errorf("no namespace: %v", err)
	}
}

// TestOwnersOfOneName: each of them is told.
func TestOwnersOfOneName(t *testing.T) {
	fields := `{"f:spec":{"f:replicas":{}}}`
	play(t, map[string]scene{"three": {
		reason: "one name owns the replicas in three ways", policy: share, happens: owned(hpa, entry("hpa", "Apply", "", fields), entry("hpa", "Update", "", fields)),
		sent: []string{whole, read, pinned}, attempts: 2, action: apply.Configured,
		conflicts: []string{"Share .spec.replicas to 3: owned by hpa/Apply with value 5", "Share .spec.replicas to 3: owned by hpa/Update with value 5", sharedReplicas},
	}})
}

// TestOwnConflicts: with another entry of our own name nobody gives way to himself.
func TestOwnConflicts(t *testing.T) {
	fields := `{"f:spec":{"f:replicas":{}}}`
	byUpdate, throughScale := owned(kubectl, entry(manager, "Update", "", fields)), owned(kubectl, entry(manager, "Apply", "scale", fields))
	itself := ".spec.replicas to 3: owned by " + manager + " itself (by "
	rejected := func(policy apply.Policy) scene {
		return scene{
			reason: "by Update", policy: policy, happens: byUpdate, sent: []string{whole, read},
			attempts: 1, err: apply.ErrConflict, conflicts: []string{"Reject " + itself + "Update) with value 5"},
		}
	}
	play(t, map[string]scene{
		"relinquished": rejected(relinquish),
		"shared":       rejected(share),
		"rejected":     rejected(apply.Policy{}),
		"forced": {
			reason: "the policy may", policy: force, happens: byUpdate, sent: []string{whole, read, whole, forces},
			attempts: 3, action: apply.Configured, conflicts: []string{"Force " + itself + "Update) with value 5"},
		},
		"applied through a subresource": {
			reason: "an apply of the object takes it, whatever the policy says", happens: throughScale, sent: []string{whole, read, whole, forces},
			attempts: 3, action: apply.Configured, conflicts: []string{"Force " + itself + "Apply through scale) with value 5"},
		},
	})
}
