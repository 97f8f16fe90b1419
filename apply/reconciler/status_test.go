package reconciler_test

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// What Status is told, and what is written in the end.
func TestStatusSeesWhatWasApplied(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.fails["apply a"] = apierrors.NewBadRequest("no")
	status, applied := w.config.Status, reconciler.Applied{}
	w.config.Status = func(ctx context.Context, p parentType, a reconciler.Applied) (reconciler.Report[parentType], error) {
		applied = a
		return status(ctx, p, a)
	}
	if _, err := w.reconcile(t.Context()); !errors.Is(err, apply.ErrRefused) {
		t.Error(err)
	}
	if len(applied.Outcomes) != 2 || applied.Outcomes[0].Action != "" || applied.Outcomes[1].Object.Name != "b" || len(applied.Errs) != 1 {
		t.Errorf("applied %+v", applied)
	}
	var live appsv1.Deployment
	w.must(w.store.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, &live))
	if live.Status.ObservedGeneration != 3 || live.Annotations["kept"] != "yes" {
		t.Errorf("written %+v", live)
	}
}

// reporting has the reconciler report this.
func (w *world) reporting(report reconciler.Report[parentType]) {
	w.config.Status = func(context.Context, parentType, reconciler.Applied) (reconciler.Report[parentType], error) {
		return report, nil
	}
}

func observed(generation int64) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment("web", "shop").
		WithStatus(appsv1ac.DeploymentStatus().WithObservedGeneration(generation))
}

func TestStatusByApply(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.config.Finalizer, w.config.Cleanup, w.config.Updater = "", nil, nil // it takes no Updater
	then := false
	w.reporting(reconciler.Report[parentType]{Apply: observed(3), Then: func(context.Context) error { then = true; return nil }})
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.String() != "emit, apply a, apply b, apply status" || !then {
		t.Errorf("%s, then: %v", w, then)
	}
	var live appsv1.Deployment
	w.must(w.store.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web"}, &live))
	if live.Status.ObservedGeneration != 3 {
		t.Errorf("written %+v", live.Status)
	}
}

func TestStatusThatDoesNotLand(t *testing.T) {
	change := func(parentType) error { return nil }
	for name, test := range map[string]struct {
		reason string
		report reconciler.Report[parentType]
		fails  error
		says   string // "": no error
	}{
		"both":     {"one writer a field", reconciler.Report[parentType]{Apply: observed(3), Change: change}, nil, "both Change and Apply"},
		"no way":   {"a change is an update", reconciler.Report[parentType]{Change: change}, nil, "needs an Updater"},
		"gone":     {"Gone follows", reconciler.Report[parentType]{Apply: observed(3)}, notFound(), ""},
		"refused":  {"it is told", reconciler.Report[parentType]{Apply: observed(3)}, apierrors.NewBadRequest("no"), "status: Deployment shop/web is refused"},
		"no other": {"nothing to write", reconciler.Report[parentType]{}, errors.New("not called"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(test.reason)
			w := newWorld(t, withFinalizer())
			w.config.Finalizer, w.config.Cleanup, w.config.Updater = "", nil, nil
			then := false
			test.report.Then = func(context.Context) error { then = true; return nil }
			w.reporting(test.report)
			w.fails["apply status"] = test.fails
			_, err := w.reconcile(t.Context())
			if test.says == "" && err != nil || test.says != "" && (err == nil || !contains(err.Error(), test.says)) {
				t.Errorf("%v, want it to say %q", err, test.says)
			}
			if then != (name == "no other") {
				t.Errorf("Then was called: %v", then)
			}
		})
	}
}

// TestParentThatTheCacheStillHas: once a status write has found that the parent was deleted, its children are not applied
// again. The garbage collector would delete them, that would wake the reconciler, and so on. The next parent of this name
// is reconciled.
func TestParentThatTheCacheStillHas(t *testing.T) {
	for name, test := range map[string]struct {
		answer error
		want   string // of a second reconcile
	}{
		"gone":           {notFound(), ""},
		"no such status": {noSuchPage(), "emit, apply a, apply b, apply status"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, withFinalizer())
			w.config.Finalizer, w.config.Cleanup, w.config.Updater = "", nil, nil
			w.reporting(reconciler.Report[parentType]{Apply: observed(3)})
			w.fails["apply status"] = test.answer
			r, err := reconciler.New(w.config)
			w.must(err)
			reconcileOnce := func() string {
				w.happened = nil
				_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
				w.must(err)
				return w.String()
			}
			if got := reconcileOnce(); got != "emit, apply a, apply b, apply status" {
				t.Error(got)
			}
			if got := reconcileOnce(); got != test.want {
				t.Errorf("%s, want %q", got, test.want)
			}
			w.cached.UID, w.before.UID = "uid-2", "uid-2"
			if got := reconcileOnce(); got != "emit, apply a, apply b, apply status" {
				t.Errorf("the next parent: %s", got)
			}
		})
	}
}

// noSuchPage is the answer of the API server where a kind has no subresource status.
func noSuchPage() error {
	return apierrors.NewGenericServerResponse(404, "PATCH", appsv1.Resource("deployments"), "web", "404 page not found", 0, true)
}

// A conflict on the status is told like any other.
func TestStatusConflictIsTold(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.reporting(reconciler.Report[parentType]{Apply: observed(3)})
	w.fails["apply status"] = conflictOver("x")
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	if told := w.told(); len(told) != 1 || !contains(told[0], "Warning OwnershipConflict") {
		t.Errorf("told %q", told)
	}
}

func TestTwoIntentsForOneObject(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.config.Emit = func(parentType) (reconciler.Emission, error) { return emission("a", "b", "a"), nil }
	_, err := w.reconcile(t.Context())
	if !errors.Is(err, apply.ErrInvalidIntent) || !contains(err.Error(), "two intents for one object") {
		t.Error(err)
	}
	if !contains(w.String(), "apply a, apply b, status") {
		t.Errorf("%s: the second one was applied", w)
	}
}

// What is settled is told once, by what was decided.
func TestSettledEvents(t *testing.T) {
	for decision, want := range map[apply.Decision]string{
		apply.Force:      `Normal OwnershipForced set .data.k to "a": owned by other/Update with "theirs"`,
		apply.Relinquish: `Normal OwnershipRelinquished did not set .data.k to "a": owned by other/Update with "theirs"`,
		apply.Share:      `Normal OwnershipShared shares the value, and did not set .data.k to "a": owned by other/Update with "theirs"`,
	} {
		w := newWorld(t, withFinalizer())
		w.owned("a", "k")
		applier, err := apply.New(w.store, apply.Config{FieldManager: "test", LiveReader: w.store, Policy: apply.OnConflict(decision)})
		w.must(err)
		w.config.Applier = applier
		if _, err := w.reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.told(); len(got) != 1 || got[0] != want {
			t.Errorf("%v: told %q, want %q", decision, got, want)
		}
	}
}
