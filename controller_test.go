package coapply_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// A Secret is the parent, and a ConfigMap of its name is the child.
func emitCopy(parent *corev1.Secret) ([]apply.Intent, error) {
	if parent.Type == "broken" {
		return nil, errors.New("nothing can be made of it")
	}
	return []apply.Intent{{Config: corev1ac.ConfigMap(parent.Name, parent.Namespace).
		WithOwnerReferences(coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("Secret"))).
		WithData(map[string]string{"type": string(parent.Type)})}}, nil
}

func parent(kind corev1.SecretType) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}, Type: kind}
}

func TestFor(t *testing.T) {
	w := newWorld(t, parent("good"))
	rt := newRuntime(t, w)
	var applied reconciler.Applied
	var gone []types.NamespacedName
	r, err := coapply.For(rt, "copier", emitCopy).
		Status(func(_ context.Context, _ *corev1.Secret, a reconciler.Applied) (reconciler.Report[*corev1.Secret], error) {
			applied = a
			return reconciler.Report[*corev1.Secret]{}, nil
		}).
		Gone(func(_ context.Context, name types.NamespacedName) error { gone = append(gone, name); return nil }).
		Reconciler()
	if err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(parent(""))
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatal(err)
	}
	var child corev1.ConfigMap
	if err := w.client.Get(t.Context(), key, &child); err != nil || child.Data["type"] != "good" || !metav1.IsControlledBy(&child, parent("")) {
		t.Errorf("%v: %+v", err, child)
	}
	if len(applied.Outcomes) != 1 || len(applied.Errs) != 0 {
		t.Errorf("the status was told %+v", applied)
	}
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "none"}}); err != nil || len(gone) != 1 {
		t.Errorf("%v, gone %v", err, gone)
	}
}

// TestForIsTold: what is missing is told by whoever wires the controller, with its names.
func TestForIsTold(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	for _, test := range []struct {
		reason string
		build  *coapply.Builder[*corev1.Secret]
		want   string
	}{
		{"no Emit", coapply.For[*corev1.Secret](rt, "copier", nil), "Emit is needed"},
		{"no name", coapply.For(rt, "", emitCopy), "FieldManager: a name is needed"},
		{"pruning without a finalizer", coapply.For(rt, "copier", emitCopy).Prune(), "Finalizer (for Prune"},
		{"a finalizer for nothing", coapply.For(rt, "copier", emitCopy).Finalizer("example.com/x", nil), "Cleanup or Prune"},
		{"a policy of no field", coapply.For(rt, "copier", emitCopy).OnConflict(apply.Policy{}.At("spec", apply.Force)), "spec"},
	} {
		err := test.build.Complete()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "*v1.Secret") {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

// TestForTakesPointers: what is no pointer is refused, and does not panic.
func TestForTakesPointers(t *testing.T) {
	err := coapply.For(newRuntime(t, newWorld(t)), "copier", func(client.Object) ([]apply.Intent, error) { return nil, nil }).Complete()
	if err == nil || !strings.Contains(err.Error(), "want a pointer") {
		t.Error(err)
	}
}

// TestForCompletes: every step of the builder reaches controller-runtime's.
func TestForCompletes(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	build := func(name string, options controller.Options) error {
		return coapply.For(rt, name, emitCopy).
			Owns(&corev1.ConfigMap{}).
			Watches(&corev1.Node{}, &handler.EnqueueRequestForObject{}).
			OnConflict(apply.OnConflict(apply.Force)).
			DependsOn(func(parent *corev1.Secret) any { return parent.Labels }).
			Belongs(func(*corev1.Secret, client.Object) bool { return true }).
			Finalizer("example.com/"+name, nil).Prune().
			Named(name).WithOptions(options).Complete()
	}
	if err := build("copier", controller.Options{}); err != nil {
		t.Error(err)
	}
	if err := build("other", controller.Options{Reconciler: reconcile.Func(nil)}); err == nil || !strings.Contains(err.Error(), "WithOptions") {
		t.Errorf("the options did not arrive: %v", err)
	}
}
