package coapply_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"coapply.dev"
	"coapply.dev/apply"
)

// TestForRefusesMistakes: Complete returns an error for each mistake, and the error says what to
// change.
func TestForRefusesMistakes(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	builder := func() *coapply.Builder[*corev1.Secret] { return coapply.For(rt, "copier", emitCopy) }
	partly := &metav1.PartialObjectMetadata{}
	partly.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	for _, test := range []struct {
		reason string
		build  *coapply.Builder[*corev1.Secret]
		want   string
	}{
		{"the parent is owned", builder().Owns(&corev1.Secret{}), "Owns(*v1.Secret): Secret is the kind of the parent, which is already watched; remove this call of Owns"},
		{"a kind is owned twice", builder().Owns(&corev1.ConfigMap{}).Owns(&corev1.ConfigMap{}), "Owns(*v1.ConfigMap): ConfigMap was given to Owns twice"},
		{"a kind is owned twice, once as metadata", builder().Owns(&corev1.ConfigMap{}).Owns(partly), "Owns(*v1.PartialObjectMetadata): ConfigMap was given to Owns twice"},
		{"a typo in a policy", builder().Owns(&appsv1.Deployment{}).OnConflict(apply.OnConflict(apply.Reject).At(".spec.replcias", apply.Force)),
			"kinds has the field .spec.replcias; correct the path"},
		{"a finalizer without a domain", builder().Finalizer("cleanup", nil).Prune(), `"cleanup"`},
	} {
		err := test.build.Complete()
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), `field manager "copier"`) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

// TestForTakesPathsOfOtherKinds: a policy may have paths of kinds that the builder does not know,
// because Emit may return such kinds.
func TestForTakesPathsOfOtherKinds(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	force := func(path string) apply.Policy { return apply.OnConflict(apply.Reject).At(path, apply.Force) }
	custom := &unstructured.Unstructured{}
	custom.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	for reason, build := range map[string]*coapply.Builder[*corev1.Secret]{
		"a kind of the scheme":       coapply.For(rt, "copier", emitCopy).OnConflict(force(`.spec.template.spec.containers[name="web"].image`)),
		"a label":                    coapply.For(rt, "copier", emitCopy).OnConflict(force(`.metadata.labels["a.b/c"]`)),
		"an owned kind without type": coapply.For(rt, "copier", emitCopy).Owns(custom).OnConflict(force(".spec.cogs")),
		"a watched kind without type": coapply.For(rt, "copier", emitCopy).Watches(custom, &handler.EnqueueRequestForObject{}).
			OnConflict(force(".spec.cogs")),
		"each conflict of a manager": coapply.For(rt, "copier", emitCopy).
			OnConflict(apply.OnConflict(apply.Reject).When(apply.Match{Manager: "helm"}, apply.Force)),
	} {
		if _, err := build.Reconciler(); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestCompleteTwice: two controllers of one Runtime must not have the same field manager.
func TestCompleteTwice(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	everywhere := func(*corev1.Namespace) bool { return true }
	for _, step := range []struct {
		reason, fieldManager, name string
		rt                         *coapply.Runtime
		want                       string // "" for no error
	}{
		{"the first", "shop-a", "a", rt, ""},
		{"the same field manager", "shop-a", "b", rt, `the controller "a" already applies under this field manager`},
		{"the same field manager, of the limited Runtime", "shop-a", "b", rt.Within(everywhere), `the controller "a" already applies under this field manager`},
		{"another name and field manager", "shop-b", "b", rt, ""},
		{"the same in another Runtime", "shop-a", "a", newRuntime(t, newWorld(t)), ""},
	} {
		err := coapply.For(step.rt, step.fieldManager, emitCopy).Named(step.name).Complete()
		if (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%s: %v, want %q", step.reason, err, step.want)
		}
	}
	if err := rt.Client("shop-a", apply.Policy{}).Apply(t.Context(), corev1ac.ConfigMap("page", "shop")); err != nil {
		t.Errorf("a client under the name of a controller: %v", err)
	}
}

// TestFinalizerTwice: two controllers of a kind that share a finalizer would not wait for each other's clean-up.
func TestFinalizerTwice(t *testing.T) {
	rt := newRuntime(t, newWorld(t))
	done := func(context.Context, *corev1.Secret) (bool, error) { return true, nil }
	for _, step := range []struct{ name, finalizer, want string }{
		{"a", "shop.example.com/a", ""},
		{"b", "shop.example.com/a", `the controller "a" of the same kind already has the finalizer shop.example.com/a`},
		{"b", "shop.example.com/b", ""},
		{"c", "", ""},
		{"d", "", ""},
	} {
		build := coapply.For(rt, "shop-"+step.name, emitCopy).Named(step.name)
		if step.finalizer != "" {
			build.Finalizer(step.finalizer, done)
		}
		if err := build.Complete(); (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("%s with the finalizer %q: %v, want %q", step.name, step.finalizer, err, step.want)
		}
	}
}

// TestNameOfAnotherRuntime: controller-runtime rejects a controller name that the process has
// used before. The error of Complete says what to do, and advises against SkipNameValidation.
func TestNameOfAnotherRuntime(t *testing.T) {
	name := fmt.Sprint("copier-", rand.Uint64()) // the process remembers it
	strict := controller.Options{SkipNameValidation: new(false)}
	if err := coapply.For(newRuntime(t, newWorld(t)), "copier", emitCopy).Named(name).WithOptions(strict).Complete(); err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t, newWorld(t))
	err := coapply.For(rt, "copier", emitCopy).Named(name).WithOptions(strict).Complete()
	if err == nil || !strings.Contains(err.Error(), "give this controller another name with Named (with SkipNameValidation") {
		t.Error(err)
	}
	if err := coapply.For(rt, "copier", emitCopy).Named(name + "-2").WithOptions(strict).Complete(); err != nil {
		t.Errorf("the field manager is not free after the failure: %v", err)
	}
}
