package reconciler_test

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// unchangedCache has a parent and its Deployment, and gives them as an informer does: the
// Deployment without a copy.
type unchangedCache struct {
	client.Reader
	parent *corev1.ConfigMap
	child  *appsv1.Deployment
}

func (c *unchangedCache) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch into := object.(type) {
	case *corev1.ConfigMap:
		c.parent.DeepCopyInto(into)
	case *appsv1.Deployment:
		*into = *c.child
	}
	return nil
}

// webOf is what a ConfigMap calls for.
func webOf(parent *corev1.ConfigMap) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": parent.Name, "tier": "shop"}
	container := corev1ac.Container().WithName("web").WithImage("registry.example.com/shop:1.2.3").WithArgs("serve", "--port=8080").
		WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(8080).WithProtocol(corev1.ProtocolTCP)).
		WithEnv(corev1ac.EnvVar().WithName("LEVEL").WithValue("info"), corev1ac.EnvVar().WithName("REGION").WithValue("west"))
	return appsv1ac.Deployment(parent.Name, parent.Namespace).WithLabels(labels).
		WithOwnerReferences(metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").WithName(parent.Name).WithUID(parent.UID)).
		WithSpec(appsv1ac.DeploymentSpec().WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).WithSpec(corev1ac.PodSpec().WithContainers(container))))
}

// BenchmarkUnchanged is a reconcile with nothing to change: get the parent, emit a
// Deployment, see that it is as wanted; and the last of these without the reconciler.
func BenchmarkUnchanged(b *testing.B) {
	cache := &unchangedCache{
		parent: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1", ResourceVersion: "1"}},
		child:  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
	}
	store := fake.NewClientBuilder().WithReturnManagedFields().Build()
	if err := store.Apply(b.Context(), webOf(cache.parent), client.FieldOwner("shop")); err != nil {
		b.Fatal(err)
	}
	if err := store.Get(b.Context(), client.ObjectKeyFromObject(cache.child), cache.child); err != nil {
		b.Fatal(err)
	}
	cache.child.UID = "uid-2"
	entry := &cache.child.ManagedFields[0] // the fake client sends a status, too
	entry.FieldsV1 = metav1.NewFieldsV1(strings.Replace(entry.FieldsV1.GetRawString(), `,"f:status":{}`, "", 1))
	steady, err := apply.NewSteadyState(cache, openapitest.NewEmbeddedFileClient())
	if err != nil {
		b.Fatal(err)
	}
	applier, err := apply.New(store, apply.Config{FieldManager: "shop", LiveReader: store, Steady: steady})
	if err != nil {
		b.Fatal(err)
	}
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{Client: cache, Applier: applier,
		Emit: func(parent *corev1.ConfigMap) (reconciler.Emission, error) {
			return reconciler.Emission{Intents: []apply.Intent{{Config: webOf(parent)}}}, nil
		}})
	if err != nil {
		b.Fatal(err)
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cache.parent)}
	if outcome, err := applier.Apply(b.Context(), apply.Intent{Config: webOf(cache.parent)}); err != nil || outcome.Attempts > 0 {
		b.Fatalf("it is not steady: %+v, %v", outcome, err)
	}
	b.Run("emit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			webOf(cache.parent)
		}
	})
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if outcome, err := applier.Apply(b.Context(), apply.Intent{Config: webOf(cache.parent)}); err != nil || outcome.Attempts > 0 {
				b.Fatal(outcome, err)
			}
		}
	})
	b.Run("reconcile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := r.Reconcile(b.Context(), request); err != nil {
				b.Fatal(err)
			}
		}
	})
}
