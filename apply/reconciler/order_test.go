package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/reconciler"
)

var errAny = errors.New("any")

func withFinalizer() parentType {
	p := parent()
	p.Finalizers = []string{finalizer}
	return p
}

func paused(p parentType) parentType {
	p.Annotations[reconciler.PausedAnnotation] = "true"
	return p
}

func deleting(p parentType, finalizers ...string) parentType {
	now := metav1.Now()
	p.DeletionTimestamp, p.Finalizers = &now, finalizers
	return p
}

func TestOrder(t *testing.T) {
	const applied, written = "emit, apply a, apply b", "status, PUT status, then"
	fail := func(what string, err error) func(*world) { return func(w *world) { w.fails[what] = err } }
	for name, test := range map[string]struct {
		reason string
		parent parentType
		change func(*world)
		want   string
		again  bool // at once
		err    error

		refused bool // tried again after a wait
	}{
		"new": {
			reason: "the finalizer stands before anything else, and the next reconcile begins with it",
			parent: parent(), want: "PUT", again: true,
		},
		"known": {
			reason: "a finalizer that is there is no write; the status comes after everything else",
			parent: withFinalizer(), want: applied + ", " + written,
		},
		"paused":           {reason: "left alone", parent: paused(parent())},
		"paused, deleting": {reason: "left alone, finalizer and all", parent: paused(deleting(parent(), finalizer))},
		"gone":             {reason: "nothing to write to", want: "gone shop/web"},
		"gone, fails":      {reason: "tried again", change: fail("gone", errAny), want: "gone shop/web", err: errAny},
		"gone, not asked":  {reason: "Gone may be nil", change: func(w *world) { w.config.Gone = nil }},
		"unreadable":       {reason: "tried again", parent: parent(), change: fail("GET", errAny), err: errAny},
		"deleting":         {reason: "cleanup, then the finalizer; nothing is emitted", parent: deleting(parent(), finalizer), want: "cleanup, PUT"},
		"deleting, fails":  {reason: "the finalizer stays", parent: deleting(parent(), finalizer), change: fail("cleanup", errAny), want: "cleanup", err: errAny},
		"deleting, waiting": {
			reason: "the finalizer stays, and what is waited for leads to another reconcile",
			parent: deleting(parent(), finalizer), want: "cleanup",
			change: func(w *world) {
				w.config.Cleanup = func(context.Context, parentType) (bool, error) { w.note("cleanup"); return false, nil }
			},
		},
		"deleting, held by others": {
			reason: "our part is done, or was never begun",
			parent: deleting(parent(), "example.com/other"),
		},
		"deleting, no finalizer of ours": {
			reason: "nothing to do", parent: deleting(parent(), "example.com/other"),
			change: func(w *world) { w.config.Finalizer, w.config.Cleanup = "", nil },
		},
		"no finalizer configured": {
			reason: "none is written", parent: parent(), want: applied + ", " + written,
			change: func(w *world) { w.config.Finalizer, w.config.Cleanup = "", nil },
		},
		"finalizer fails": {
			reason: "nothing is written without it",
			parent: parent(), change: fail("PUT", apierrors.NewForbidden(appsv1.Resource("deployments"), "web", errAny)),
			want: "PUT", refused: true,
		},
		"emit fails": {
			reason: "nothing is applied, and the status says so",
			parent: withFinalizer(), change: fail("emit", errAny), want: "emit, " + written, err: errAny,
		},
		"first of two fails": {
			reason: "the second is applied all the same",
			parent: withFinalizer(), change: fail("apply a", apierrors.NewBadRequest("no")),
			want: applied + ", " + written, refused: true,
		},
		"a subresource": {
			reason: "it has no owner of its own to judge", want: applied + ", apply status, status, then",
			parent: withFinalizer(), change: func(w *world) { w.more = []apply.Intent{{Config: observed(3), Subresource: "status"}} },
		},
		"one that must exist": {
			reason: "whoever made it", want: applied + ", apply theirs, " + written,
			parent: withFinalizer(), change: func(w *world) {
				theirs := metav1.ObjectMeta{Namespace: "shop", Name: "theirs", UID: "uid-theirs"}
				w.must(w.store.Create(w.t.Context(), &corev1.ConfigMap{ObjectMeta: theirs}))
				w.more = []apply.Intent{{Config: corev1ac.ConfigMap("theirs", "shop"), MustExist: true}}
			},
		},
		"the parent itself": {
			reason: "it is its own", want: applied + ", apply parent, " + written,
			parent: withFinalizer(), change: func(w *world) { w.more = []apply.Intent{{Config: appsv1ac.Deployment("web", "shop")}} },
		},
		"no status": {
			reason: "Status may be nil", parent: withFinalizer(), want: applied,
			change: func(w *world) { w.config.Status = nil },
		},
		"status fails": {
			reason: "nothing to write, and nothing may follow",
			parent: withFinalizer(), change: fail("status", errAny), want: applied + ", status", err: errAny,
		},
		"status write fails": {
			reason: "what must come after it does not",
			parent: withFinalizer(), change: fail("PUT status", apierrors.NewBadRequest("no")),
			want: applied + ", status, PUT status", refused: true,
		},
		"gone before the status": {
			reason: "no error, and no status that what follows could rely on",
			parent: withFinalizer(), change: fail("PUT status", notFound()),
			want: applied + ", status, PUT status",
		},
		"then fails": {
			reason: "tried again", parent: withFinalizer(), change: fail("then", errAny),
			want: applied + ", " + written, err: errAny,
		},
		"the clock matters": {
			reason: "tried again when the status says so", parent: withFinalizer(), want: applied, again: true,
			change: func(w *world) {
				w.config.Status = func(context.Context, parentType, reconciler.Applied) (reconciler.Report[parentType], error) {
					return reconciler.Report[parentType]{After: time.Millisecond}, nil
				}
			},
		},
		"the clock matters more": {
			reason: "before what waits longer", parent: withFinalizer(), want: applied, again: true,
			change: func(w *world) {
				w.fails["apply a"] = apply.ErrNotOurs
				w.reporting(reconciler.Report[parentType]{After: time.Millisecond})
			},
		},
		"status without change": {
			reason: "nothing is written; what follows needs no write", parent: withFinalizer(), want: applied + ", then",
			change: func(w *world) {
				w.config.Status = func(context.Context, parentType, reconciler.Applied) (reconciler.Report[parentType], error) {
					return reconciler.Report[parentType]{Then: func(context.Context) error { w.note("then"); return nil }}, nil
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, test.parent)
			if test.change != nil {
				test.change(w)
			}
			result, err := w.reconcile(t.Context())
			again := result.RequeueAfter > 0 && result.RequeueAfter < time.Second
			refused := result.RequeueAfter >= time.Second
			if !errors.Is(err, test.err) || test.err == nil && err != nil || again != test.again || refused != test.refused {
				t.Errorf("%s: %+v, %v; want %v", test.reason, result, err, test.err)
			}
			if w.String() != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.reason, w, test.want)
			}
		})
	}
}

// The end of the reconcile's own context is no error; any other one is.
func TestContextEnds(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	w := newWorld(t, parent())
	if result, err := w.reconcile(ctx); err != nil || result != (reconcile.Result{}) || w.String() != "" {
		t.Errorf("before: %+v, %v after %s", result, err, w)
	}

	ctx, end = context.WithCancel(t.Context())
	w = newWorld(t, withFinalizer())
	w.config.Emit = func(parentType) ([]apply.Intent, error) { end(); return emission("a", "b"), nil }
	w.config.Status = nil
	if result, err := w.reconcile(ctx); err != nil || result != (reconcile.Result{}) || w.String() != "" {
		t.Errorf("meanwhile: %+v, %v after %s", result, err, w)
	}

	if _, err := reconciler.Requeue(ctx, errAny); !errors.Is(err, errAny) {
		t.Errorf("what is wrong beside it: %v", err)
	}

	w = newWorld(t, deleting(parent(), finalizer))
	w.fails["cleanup"] = context.Canceled // of a call with a context of its own
	if _, err := w.reconcile(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("another context: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	w := newWorld(t, nil)
	label := fmt.Sprintf(".metadata.labels[%q]", applyset.PartOfLabel)
	forcesTheLabel, err := apply.New(w.store, apply.Config{FieldManager: "test", LiveReader: w.store, Policy: apply.OnConflict(apply.Reject).At(label, apply.Force)})
	w.must(err)
	for says, change := range map[string]func(*reconciler.Config[parentType]){
		"Client is needed":       func(c *reconciler.Config[parentType]) { c.Client = nil },
		"Applier is needed":      func(c *reconciler.Config[parentType]) { c.Applier = nil },
		"Emit is needed":         func(c *reconciler.Config[parentType]) { c.Emit = nil },
		"Updater (to write the":  func(c *reconciler.Config[parentType]) { c.Updater = nil },
		"Cleanup or Prune (f":    func(c *reconciler.Config[parentType]) { c.Cleanup = nil },
		"Finalizer (for Clea":    func(c *reconciler.Config[parentType]) { c.Finalizer = "" },
		"labels[\"applyset.kube": func(c *reconciler.Config[parentType]) { c.Prune, c.Applier = true, forcesTheLabel },
		"finalizer \"x y\"":      func(c *reconciler.Config[parentType]) { c.Finalizer = "x y" },
		"needs a domain":         func(c *reconciler.Config[parentType]) { c.Finalizer = "copier" },
		"Finalizer (for Prun":    func(c *reconciler.Config[parentType]) { c.Finalizer, c.Cleanup, c.Prune = "", nil, true },
	} {
		config := w.config
		change(&config)
		if _, err := reconciler.New(config); err == nil || !contains(err.Error(), says) {
			t.Errorf("%v; want it to say %q", err, says)
		}
	}
	if _, err := reconciler.New(reconciler.Config[*unstructured.Unstructured]{}); err == nil || !contains(err.Error(), "which can hold any kind") {
		t.Errorf("an unstructured parent: %v", err)
	}
	if _, err := reconciler.New(reconciler.Config[*metav1.PartialObjectMetadata]{}); err == nil || !contains(err.Error(), "which can hold any kind") {
		t.Errorf("metadata for a parent: %v", err)
	}
	_, err = reconciler.New(reconciler.Config[client.Object]{})
	if err == nil || !contains(err.Error(), "want a pointer") {
		t.Errorf("an interface as parent: %v", err)
	}
	small := reconciler.Config[parentType]{Client: w.config.Client, Applier: w.config.Applier, Emit: w.config.Emit}
	if _, err := reconciler.New(small); err != nil {
		t.Errorf("what is needed and no more: %v", err)
	}
}

// The cache is behind: the parent has its finalizer by now, and is being deleted.
func TestDeletedUnderAnOldCache(t *testing.T) {
	w := newWorld(t, deleting(parent(), finalizer))
	w.cached = w.cached.DeepCopy()
	w.cached.DeletionTimestamp, w.cached.Finalizers, w.cached.ResourceVersion = nil, nil, "1"
	w.before = w.cached.DeepCopy()
	if _, err := w.reconcile(t.Context()); err != nil {
		t.Error(err)
	}
	if w.String() != "cleanup, PUT" {
		t.Errorf("%s; want no write of what the cache has, and the end of the parent", w)
	}

	w = newWorld(t, deleting(parent(), finalizer))
	w.cached = w.cached.DeepCopy()
	w.cached.DeletionTimestamp, w.cached.Finalizers, w.cached.ResourceVersion = nil, nil, "1"
	w.before = w.cached.DeepCopy()
	w.fails["cleanup"] = errAny
	if _, err := w.reconcile(t.Context()); !errors.Is(err, errAny) {
		t.Errorf("%v, want %v", err, errAny)
	}
	w.fails["cleanup"] = &apply.RetryableError{After: time.Hour}
	if result, err := w.reconcile(t.Context()); err != nil || result.RequeueAfter < time.Hour {
		t.Errorf("%+v, %v; want the wait that was asked for", result, err)
	}
}

// TestCleanupOnce: after the finalizer is removed, the cache has the parent with its finalizer for a while, and an event of a
// child may reconcile it.
func TestCleanupOnce(t *testing.T) {
	w := newWorld(t, deleting(parent(), finalizer))
	r, err := reconciler.New(w.config)
	w.must(err)
	for _, want := range []string{"cleanup, PUT", ""} {
		w.happened = nil
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
		if err != nil || w.String() != want {
			t.Errorf("%q, %v; want %q", w, err, want)
		}
	}
}

// A parent that was recreated under an old cache: the finalizer of the new one stays.
func TestRecreatedUnderAnOldCache(t *testing.T) {
	w, _ := pruning(t)
	w.must(w.store.Patch(t.Context(), w.cached.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	w.must(w.store.Delete(t.Context(), w.cached.DeepCopy()))
	next := withFinalizer()
	next.UID = "uid-2"
	w.must(w.store.Create(t.Context(), next))
	w.cached = deleting(w.cached.DeepCopy(), finalizer)
	w.before, w.happened = w.cached.DeepCopy(), nil
	if result, err := w.reconcile(t.Context()); err != nil || result != (reconcile.Result{}) || w.String() != "cleanup" {
		t.Errorf("%+v, %v after %s", result, err, w)
	}
}
