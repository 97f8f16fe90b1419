package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// TestRefusalsAreLoggedOnce: a refusal is logged as an error once while its text stays the same.
// Reconcile returns no error, because the rate limiter would retry an error.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("configmaps"), "a", errors.New("no right to patch"))
	for reason, call := range map[string]string{"a child": "apply a", "the status": "PUT status", "the end of the finalizer": "PUT"} {
		w := newWorld(t, withFinalizer())
		w.fails[call] = forbidden
		if call == "PUT" {
			w.cached.DeletionTimestamp = new(metav1.Now())
			w.before = w.cached.DeepCopy()
		}
		r, err := reconciler.New(w.config)
		w.must(err)
		var logged []string
		ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) {
			if strings.Contains(args, "could not be reconciled") {
				logged = append(logged, args)
			}
		}, funcr.Options{}))
		for range 10 {
			result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
			if err != nil || result.RequeueAfter < time.Second {
				t.Errorf("%s: %+v, %v; want a retry after a second or more", reason, result, err)
			}
		}
		if len(logged) != 1 || !strings.Contains(logged[0], "no right to patch") {
			t.Errorf("%s: logged %d times: %s", reason, len(logged), strings.Join(logged, "\n"))
		}
	}
}

// TestInvalidIntentIsTerminal: only a change of the parent or of the program fixes an invalid
// intent.
func TestInvalidIntentIsTerminal(t *testing.T) {
	w := newWorld(t, withFinalizer())
	w.more = []apply.Intent{{}}
	if _, err := w.reconcile(t.Context()); !errors.Is(err, reconcile.TerminalError(nil)) || !errors.Is(err, apply.ErrInvalidIntent) {
		t.Error(err)
	}
	w = newWorld(t, withFinalizer())
	w.more = []apply.Intent{{}}
	w.fails["apply a"] = conflictOver("k")
	w.owned("a", "k")
	if result, err := w.reconcile(t.Context()); err != nil || result.RequeueAfter < time.Minute {
		t.Errorf("beside a conflict, whose retry would be lost: %+v, %v", result, err)
	}
}

// TestEmitIsPure: if two calls of Emit differ in a field, in the order of a list or in the
// objects, nothing is sent.
func TestEmitIsPure(t *testing.T) {
	calls := 0
	for _, test := range []struct {
		reason string
		emit   func() *corev1ac.ConfigMapApplyConfiguration
		want   string // "" for no error
	}{
		{"the same each time", func() *corev1ac.ConfigMapApplyConfiguration { return corev1ac.ConfigMap("a", "shop") }, ""},
		{"a counter", func() *corev1ac.ConfigMapApplyConfiguration {
			return corev1ac.ConfigMap("a", "shop").WithData(map[string]string{"n": fmt.Sprint(calls)})
		}, "different values of .data.n in ConfigMap shop/a"},
		{"a list in another order", func() *corev1ac.ConfigMapApplyConfiguration {
			list := []string{"example.com/a", "example.com/b"}
			return corev1ac.ConfigMap("a", "shop").WithFinalizers(list[calls%2], list[1-calls%2])
		}, "different values of .metadata.finalizers in ConfigMap shop/a"},
		{"an object with a random name", func() *corev1ac.ConfigMapApplyConfiguration {
			return corev1ac.ConfigMap(fmt.Sprint("a", calls), "shop")
		}, "and the other did not"},
	} {
		w := newWorld(t, withFinalizer())
		w.config.Emit = func(parentType) ([]apply.Intent, error) {
			calls++
			return []apply.Intent{{Config: test.emit()}}, nil
		}
		var applied reconciler.Applied
		w.config.Status = func(_ context.Context, _ parentType, a reconciler.Applied) (reconciler.Report[parentType], error) {
			applied = a
			return reconciler.Report[parentType]{}, nil
		}
		result, err := w.reconcile(t.Context())
		sent := strings.Contains(w.String(), "apply a")
		if err != nil || sent != (test.want == "") || (result.RequeueAfter >= time.Minute) != (test.want != "") {
			t.Errorf("%s: sent is %t, %+v, %v", test.reason, sent, result, err)
		}
		if text := fmt.Sprint(errors.Join(applied.Errs...)); test.want != "" && (!errors.Is(errors.Join(applied.Errs...), reconciler.ErrNotPure) || !strings.Contains(text, test.want)) {
			t.Errorf("%s: %s, want %q", test.reason, text, test.want)
		}
	}
}

// TestEmitIsCalledOnceLater: after the first reconciles of a Reconciler, Emit is called once for each
// reconcile.
func TestEmitIsCalledOnceLater(t *testing.T) {
	w := newWorld(t, withFinalizer())
	calls := 0
	w.config.Emit = func(parentType) ([]apply.Intent, error) { calls++; return emission("a"), nil }
	r, err := reconciler.New(w.config)
	w.must(err)
	for range 1010 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}); err != nil {
			t.Fatal(err)
		}
	}
	if calls != 2010 {
		t.Errorf("%d calls in 1010 reconciles, want 2 in each of the first 1000", calls)
	}
}
