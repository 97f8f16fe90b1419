package reconciler_test

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

// mapperCounter counts who asks for REST mappings.
type mapperCounter struct {
	client.Client
	asked int
}

func (c *mapperCounter) RESTMapper() meta.RESTMapper {
	c.asked++
	return c.Client.RESTMapper()
}

func (c *mapperCounter) IsObjectNamespaced(object runtime.Object) (bool, error) {
	c.asked++
	return c.Client.IsObjectNamespaced(object)
}

// unchanged is a parent whose Deployment is as wanted.
type unchanged struct {
	parent    *corev1.ConfigMap
	client    *mapperCounter
	applier   *apply.Applier
	reconcile func(context.Context) error
}

func newUnchanged(t testing.TB) *unchanged {
	t.Helper()
	cache := &unchangedCache{
		parent: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1", ResourceVersion: "1"}},
		child:  &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
	}
	store := &mapperCounter{Client: fake.NewClientBuilder().WithReturnManagedFields().Build()}
	if err := store.Apply(t.Context(), webOf(cache.parent), client.FieldOwner("shop")); err != nil {
		t.Fatal(err)
	}
	if err := store.Get(t.Context(), client.ObjectKeyFromObject(cache.child), cache.child); err != nil {
		t.Fatal(err)
	}
	cache.child.UID = "uid-2"
	entry := &cache.child.ManagedFields[0] // the fake client sends a status, too
	entry.FieldsV1 = metav1.NewFieldsV1(strings.Replace(entry.FieldsV1.GetRawString(), `,"f:status":{}`, "", 1))
	steady, err := apply.NewSteadyState(cache, openapitest.NewEmbeddedFileClient())
	if err != nil {
		t.Fatal(err)
	}
	for { // an apply waits for a schema no longer than a second, which may be too short for a busy machine
		if _, err := steady.Schemas(t.Context(), appsv1.SchemeGroupVersion); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	applier, err := apply.New(store, apply.Config{FieldManager: "shop", LiveReader: store, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{Client: cache, Applier: applier,
		Emit: func(parent *corev1.ConfigMap) ([]apply.Intent, error) {
			return []apply.Intent{{Config: webOf(parent)}}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	if outcome, err := applier.Apply(t.Context(), apply.Intent{Config: webOf(cache.parent)}); err != nil || outcome.Attempts > 0 {
		t.Fatalf("it is not steady: %+v, %v", outcome, err)
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(cache.parent)}
	return &unchanged{cache.parent, store, applier, func(ctx context.Context) error {
		_, err := r.Reconcile(ctx, request)
		return err
	}}
}

// TestUnchangedAsksNoMapper: what was proven before needs no REST mapping.
func TestUnchangedAsksNoMapper(t *testing.T) {
	u := newUnchanged(t)
	if u.client.asked == 0 {
		t.Error("the first apply did not look whether the kind is namespaced: nothing is counted")
	}
	u.client.asked = 0
	if err := u.reconcile(t.Context()); err != nil || u.client.asked > 0 {
		t.Errorf("an unchanged reconcile asked for %d REST mappings, %v", u.client.asked, err)
	}
}

// BenchmarkUnchanged is a reconcile with nothing to change: get the parent, emit a
// Deployment, see that it is as wanted; and the last of these without the reconciler.
func BenchmarkUnchanged(b *testing.B) {
	u := newUnchanged(b)
	b.Run("emit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			webOf(u.parent)
		}
	})
	b.Run("apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if outcome, err := u.applier.Apply(b.Context(), apply.Intent{Config: webOf(u.parent)}); err != nil || outcome.Attempts > 0 {
				b.Fatal(outcome, err)
			}
		}
	})
	b.Run("reconcile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := u.reconcile(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
