package reconciler_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	if result, err := w.reconcile(t.Context()); err != nil || result.RequeueAfter < time.Second {
		t.Errorf("%+v, %v", result, err)
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

// TestEmitHasACopy: it may write to the parent, which has its kind and its managed fields.
func TestEmitHasACopy(t *testing.T) {
	w := newWorld(t, parent())
	w.cached.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "other"}}
	w.before = w.cached.DeepCopy()
	w.config.Finalizer, w.config.Cleanup, w.config.Updater, w.config.Status = "", nil, nil, nil
	w.config.Emit = func(p parentType) ([]apply.Intent, error) {
		if p.Kind != "Deployment" || len(p.ManagedFields) != len(w.cached.ManagedFields) {
			t.Errorf("%+v", p)
		}
		p.Annotations["kept"] = "no"
		return nil, nil
	}
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestPausedIsLogged(t *testing.T) {
	var log string
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { log += args }, funcr.Options{}))
	if _, err := newWorld(t, paused(parent())).reconcile(ctx); err != nil || !contains(log, reconciler.PausedAnnotation) {
		t.Errorf("%v, logged %q", err, log)
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
		"no way":   {"a change is an update", reconciler.Report[parentType]{Change: change}, nil, "Change needs an Updater"},
		"gone":     {"Gone follows", reconciler.Report[parentType]{Apply: observed(3)}, notFound(), ""},
		"refused":  {"it is tried again later", reconciler.Report[parentType]{Apply: observed(3)}, apierrors.NewBadRequest("no"), ""},
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
				result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
				if isRefused := errors.Is(err, apply.ErrRefused) || result.RequeueAfter > 0; isRefused != (test.want != "" && w.cached.UID != "uid-2") || err != nil && !isRefused {
					t.Error(err)
				}
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

// busyReader reads nothing for the moment.
type busyReader struct{ client.Reader }

func (busyReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewTooManyRequests("busy", 10)
}

// forging is a reader of objects with an entry of managed fields that nobody can read.
type forging struct{ client.Reader }

func (f forging) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	err := f.Reader.Get(ctx, key, object, options...)
	object.SetManagedFields(append(object.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: "forger", Operation: "Apply", FieldsType: "FieldsV2"}))
	return err
}

// TestUnreadableIsTold, of what is emitted and of the status.
func TestUnreadableIsTold(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.owned("a", "k")
	applier, err := apply.New(w.store, apply.Config{FieldManager: "test", LiveReader: forging{w.store}})
	w.must(err)
	w.config.Applier = applier
	w.reporting(reconciler.Report[parentType]{Apply: observed(3)})
	w.fails["apply a"], w.fails["apply status"] = conflictOver("k"), conflictOver("k")
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	told := slices.DeleteFunc(w.told(), func(event string) bool { return !contains(event, reconciler.ReasonManagedFieldsUnreadable) })
	if len(told) != 2 || !contains(told[0], "ConfigMap shop/a") || !contains(told[1], "Deployment shop/web") {
		t.Errorf("told %q", told)
	}
}

func TestTwoIntentsForOneObject(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.config.Emit = func(parentType) ([]apply.Intent, error) { return emission("a", "b", "a"), nil }
	status := w.config.Status
	w.config.Status = func(ctx context.Context, p parentType, a reconciler.Applied) (reconciler.Report[parentType], error) {
		if len(a.Outcomes) != 3 || a.Outcomes[2].Object.Name != "a" {
			t.Errorf("%+v", a)
		}
		return status(ctx, p, a)
	}
	_, err := w.reconcile(t.Context())
	if !errors.Is(err, apply.ErrInvalidIntent) || !contains(err.Error(), "two intents for one object") {
		t.Error(err)
	}
	if !contains(w.String(), "apply a, apply b, status") {
		t.Errorf("%s: the second one was applied", w)
	}
	w.config.Status = nil
	w.config.Emit = func(parentType) ([]apply.Intent, error) { return make([]apply.Intent, 2), nil }
	if _, err := w.reconcile(t.Context()); !errors.Is(err, apply.ErrInvalidIntent) || contains(err.Error(), "two intents") {
		t.Errorf("two that are for no object: %v", err)
	}
	pinned := emission("a", "a")
	pinned[1].UID = "uid-a"
	w.config.Emit = func(parentType) ([]apply.Intent, error) { return pinned, nil }
	if _, err := w.reconcile(t.Context()); !errors.Is(err, apply.ErrInvalidIntent) || !contains(err.Error(), "two intents") {
		t.Errorf("one that is pinned: %v", err)
	}
	pinned[1].UID, pinned[1].Subresource = "", "status"
	w.happened, w.fails["apply a"] = nil, apply.ErrNotOurs
	w.config.Status = func(_ context.Context, _ parentType, a reconciler.Applied) (report reconciler.Report[parentType], err error) {
		if len(a.Errs) != 2 || a.Outcomes[1].Object.Name != "a" {
			t.Errorf("%+v", a)
		}
		return report, nil
	}
	if _, err := w.reconcile(t.Context()); err != nil || contains(w.String(), "apply status") {
		t.Errorf("a subresource of someone else's: %v after %s", err, w)
	}
}

// What is settled is told once, by what was decided.
func TestSettledEvents(t *testing.T) {
	for decision, want := range map[apply.Decision]string{
		apply.Force:      `Normal OwnershipForced set .data.k to "a": owned by other/Update with value "theirs"`,
		apply.Relinquish: `Normal OwnershipRelinquished did not set .data.k to "a": owned by other/Update with value "theirs"`,
		apply.Share:      `Normal OwnershipShared shares the owner's value, and did not set .data.k to "a": owned by other/Update with value "theirs"`,
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
