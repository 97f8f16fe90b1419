package reconciler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/reconciler"
)

// pruning has a reconciler that emitted a, b and c, and emits a and b now.
func pruning(t *testing.T) (w *world, reconcileAgain func() (reconcile.Result, error)) {
	t.Helper()
	w = newWorld(t, withFinalizer())
	w.config.Prune = true
	w.config.Status = nil
	emit, before := w.config.Emit, true
	w.config.Emit = func(p parentType) ([]apply.Intent, error) {
		if before {
			return emission("a", "b", "c"), nil
		}
		return emit(p)
	}
	r, err := reconciler.New(w.config)
	w.must(err)
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	_, err = r.Reconcile(t.Context(), request)
	w.must(err)
	w.children("a", "b", "c")
	before, w.happened = false, nil
	return w, func() (reconcile.Result, error) { return r.Reconcile(t.Context(), request) }
}

// children sets what the fake client does not: a uid.
func (w *world) children(names ...string) {
	w.t.Helper()
	for _, name := range names {
		child := &corev1.ConfigMap{}
		w.must(w.store.Get(w.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, child))
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"uid":"uid-`+name+`"}}`))
		w.must(w.store.Patch(w.t.Context(), child, patch, client.FieldOwner("server")))
	}
}

func TestPrune(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "c", errAny)
	for name, test := range map[string]struct {
		reason string
		change func(*world)
		want   string
		err    error
		after  time.Duration
	}{
		"emitted no longer": {reason: "deleted after everything else stands", want: "emit, apply a, apply b, delete c"},
		"paused": {
			reason: "left alone", change: func(w *world) { w.cached, w.before = paused(w.cached.DeepCopy()), paused(w.before) },
		},
		"deleting": {
			reason: "cleanup has it",
			change: func(w *world) {
				w.cached, w.before = deleting(w.cached.DeepCopy(), "example.com/other"), nil
				w.before = w.cached.DeepCopy()
			},
		},
		"emit fails": {
			reason: "nothing is known of what is called for",
			change: func(w *world) { w.fails["emit"] = errAny }, want: "emit", err: errAny,
		},
		"one apply fails": {
			reason: "what comes in place of the old does not stand",
			change: func(w *world) { w.fails["apply a"] = apierrors.NewBadRequest("no") },
			want:   "emit, apply a, apply b", after: time.Second,
		},
		"delete refused": {
			reason: "told, and tried again",
			change: func(w *world) { w.fails["delete c"] = forbidden },
			want:   "emit, apply a, apply b, delete c", after: time.Second,
		},
		"server busy": {
			reason: "the wait that the server asked for counts here too",
			change: func(w *world) { w.fails["delete c"] = apierrors.NewTooManyRequests("busy", 10) },
			want:   "emit, apply a, apply b, delete c", after: 10 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, again := pruning(t)
			if test.change != nil {
				test.change(w)
			}
			result, err := again()
			if !errors.Is(err, test.err) || test.err == nil && err != nil || result.RequeueAfter < test.after {
				t.Errorf("%s: %+v, %v; want %v", test.reason, result, err, test.err)
			}
			if w.String() != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.reason, w, test.want)
			}
		})
	}
}

// What Status and people are told.
func TestPrunedIsTold(t *testing.T) {
	w, again := pruning(t)
	forged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "forged", UID: "uid-forged",
		Labels: map[string]string{applyset.PartOfLabel: applyset.ID(apply.ObjectRef{
			GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), NamespacedName: client.ObjectKeyFromObject(w.cached)})}}}
	w.must(w.store.Create(t.Context(), forged, client.FieldOwner("forger")))
	if _, err := again(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Normal Pruned deleted ConfigMap shop/c, which is no longer desired",
		"Warning NotPruned ConfigMap shop/forged is no longer desired, but was kept: the field manager test does not own the object's label applyset.kubernetes.io/part-of",
	}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestStatusSeesWhatWasPruned(t *testing.T) {
	for fails, test := range map[string]struct {
		want     string
		outcomes int
	}{
		"apply parent": {"emit, apply parent", 0}, // nothing is applied that the parent does not know of
		"apply a":      {"emit, apply parent, apply a, apply b", 2},
	} {
		w := newWorld(t, withFinalizer())
		seen := w.seenByStatus(fails)
		if len(seen.Errs) != 1 || errors.Is(seen.Errs[0], applyset.ErrNotPruned) || len(seen.Outcomes) != test.outcomes || w.String() != test.want {
			t.Errorf("%s fails: %+v after %s", fails, seen, w)
		}
	}
}

// seenByStatus is what Status is told if a request is refused.
func (w *world) seenByStatus(request string) reconciler.Applied {
	w.t.Helper()
	w.config.Prune = true
	w.fails[request] = apierrors.NewForbidden(corev1.Resource("configmaps"), "web", errAny)
	var seen reconciler.Applied
	w.config.Status = func(_ context.Context, _ parentType, a reconciler.Applied) (reconciler.Report[parentType], error) {
		seen = a
		return reconciler.Report[parentType]{}, nil
	}
	if result, err := w.reconcile(w.t.Context()); err != nil || result.RequeueAfter < time.Second {
		w.t.Errorf("%+v, %v", result, err)
	}
	return seen
}

// A parent that goes takes what it emitted along: after Cleanup, and before the
// finalizer.
func TestPruneWithTheParent(t *testing.T) {
	for name, test := range map[string]struct {
		reason string
		change func(*world)
		want   string
		again  bool
	}{
		"all of it":  {reason: "also what is emitted still", want: "cleanup, delete a, delete b, delete c, PUT"},
		"no cleanup": {reason: "Prune is enough", change: func(w *world) { w.config.Cleanup = nil }, want: "delete a, delete b, delete c, PUT"},
		"cleanup waits": {
			reason: "it may need what was emitted", want: "cleanup",
			change: func(w *world) {
				w.config.Cleanup = func(context.Context, parentType) (bool, error) { w.note("cleanup"); return false, nil }
			},
		},
		"one is refused": {
			reason: "the finalizer stays, and the rest goes", want: "cleanup, delete a, delete b, delete c",
			change: func(w *world) {
				w.fails["delete a"] = apierrors.NewTooManyRequests("busy", 10)
				w.fails["delete b"] = apierrors.NewForbidden(corev1.Resource("configmaps"), "b", errAny)
			},
			again: true,
		},
		"the server is busy": {
			reason: "the wait that the server asked for counts here too", want: "cleanup, delete a, delete b, delete c", again: true,
			change: func(w *world) { w.fails["delete b"] = apierrors.NewTooManyRequests("busy", 10) },
		},
		"the parent cannot be read": {
			reason: "the wait that the server asked for counts here too", want: "cleanup", again: true,
			change: func(w *world) {
				applier, err := apply.New(w.store, apply.Config{FieldManager: "test", LiveReader: busyReader{w.store}})
				w.must(err)
				w.config.Applier = applier
			},
		},
		"the set is another tool's": {
			reason: "nothing of it is deleted", want: "cleanup", again: true,
			change: func(w *world) {
				theirs := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"applyset.kubernetes.io/tooling":"kubectl/v1"}}}`))
				w.must(w.store.Patch(w.t.Context(), w.cached.DeepCopy(), theirs))
			},
		},
		"one has a finalizer": {
			reason: "looked at again, though nobody tells its end", want: "cleanup, delete a, delete b, delete c", again: true,
			change: func(w *world) {
				child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "b"}}
				hold := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
				w.must(w.store.Patch(w.t.Context(), child, hold))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := pruning(t)
			if test.change != nil {
				test.change(w)
			}
			w.must(w.store.Delete(t.Context(), w.cached.DeepCopy()))
			w.cached = &appsv1.Deployment{}
			w.must(w.store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, w.cached))
			w.before, w.happened = w.cached.DeepCopy(), nil
			var log string
			w.told()
			result, err := w.reconcile(logr.NewContext(t.Context(), funcr.New(func(_, args string) { log += args }, funcr.Options{})))
			if told := len(w.told()); told != strings.Count(log, `"pruned"`) || contains(log, "waiting for") != (name == "one has a finalizer") {
				t.Errorf("%d events, and logged %s", told, log)
			}
			if err != nil || (result.RequeueAfter > 0) != test.again {
				t.Errorf("%s: %+v, %v", test.reason, result, err)
			}
			if w.String() != test.want {
				t.Errorf("%s:\n got %s\nwant %s", test.reason, w, test.want)
			}
		})
	}
}

// Each error of a prune has its own wait.
func TestWaitsOfAPrune(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.config.Prune, w.config.Status = true, nil
	emitted := emission("a", "b")
	w.config.Emit = func(parentType) ([]apply.Intent, error) { return emitted, nil }
	r, err := reconciler.New(w.config)
	w.must(err)
	name := client.ObjectKeyFromObject(w.cached)
	_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: name})
	w.must(err)
	w.children("a", "b")
	emitted = nil
	w.fails["delete a"], w.fails["delete b"] = apierrors.NewTooManyRequests("busy", 10), apierrors.NewTooManyRequests("busy", 100)
	if result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: name}); err != nil || result.RequeueAfter < 100*time.Second {
		t.Errorf("%+v, %v; want the longest wait", result, err)
	}
}

// What is given up is told as well.
func TestReleasedIsTold(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.owned("theirs", "taken")
	w.config.Prune, w.config.Status = true, nil
	intents := []apply.Intent{{Config: corev1ac.ConfigMap("theirs", "shop").WithData(map[string]string{"k": "v"}), MustExist: true}}
	w.config.Emit = func(parentType) ([]apply.Intent, error) { return intents, nil }
	r, err := reconciler.New(w.config)
	w.must(err)
	for range 2 {
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
		w.must(err)
		intents = nil
	}
	want := []string{
		"Normal Released gave up the fields applied to ConfigMap shop/theirs, which are no longer desired; the object was not deleted",
	}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
