package reconciler_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// TestSettled: a parent is settled between a reconcile that left nothing open and the beginning of
// the next one, and only under its uid.
func TestSettled(t *testing.T) {
	name := types.NamespacedName{Namespace: "shop", Name: "web"}
	for _, test := range []struct {
		reason string
		change func(w *world)
		want   bool
	}{
		{"as wanted", func(*world) {}, true},
		{"an apply fails", func(w *world) { w.fails["apply b"] = errors.New("no") }, false},
		{"a conflict", func(w *world) { w.fails["apply b"] = conflictOver("k") }, false},
		{"emitting fails", func(w *world) { w.fails["emit"] = errors.New("no") }, false},
		{"the status fails", func(w *world) { w.fails["status"] = errors.New("no") }, false},
		{"what follows the status fails", func(w *world) { w.fails["then"] = errors.New("no") }, false},
		{"the parent is gone", func(w *world) { w.cached, w.before = nil, nil }, false},
		{"the parent is paused", func(w *world) {
			w.cached.Annotations[reconciler.PausedAnnotation] = "true"
			w.before = w.cached.DeepCopy()
		}, false},
		{"an object that must exist does not", func(w *world) {
			w.more = []apply.Intent{{Config: corev1ac.ConfigMap("c", "shop"), MustExist: true}}
		}, false},
		{"an intent with a Belongs of its own", func(w *world) {
			w.more = []apply.Intent{{Config: corev1ac.ConfigMap("c", "shop"), Belongs: func(client.Object) bool { return true }}}
		}, false},
	} {
		t.Run(test.reason, func(t *testing.T) {
			w := newWorld(t, withFinalizer())
			during := false
			var r *reconciler.Reconciler[parentType]
			w.config.Status = func(context.Context, parentType, reconciler.Applied) (reconciler.Report[parentType], error) {
				during = during || r.Settled(name, "uid-1")
				then := func(context.Context) error { return w.fails["then"] }
				return reconciler.Report[parentType]{Then: then}, w.fails["status"]
			}
			r, err := reconciler.New(w.config)
			w.must(err)
			if r.Settled(name, "") {
				t.Error("it is settled before it was reconciled")
			}
			_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: name})
			w.must(err)
			if !r.Settled(name, "uid-1") || r.Settled(name, "uid-2") || r.Settled(types.NamespacedName{Name: "web"}, "uid-1") {
				t.Fatal("at first it is settled, under its name and uid")
			}
			test.change(w)
			_, _ = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: name}) // what it returns is TestRequeue's
			if got := r.Settled(name, "uid-1"); got != test.want {
				t.Errorf("settled is %t", got)
			}
			if during {
				t.Error("it was settled during a reconcile")
			}
		})
	}
}
