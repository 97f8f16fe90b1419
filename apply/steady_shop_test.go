package apply

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi/openapitest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/apply/internal/schemas"
	"coapply.dev/test/kit/samples"
)

// shop is a Deployment as a reconciler emits it.
var shop = samples.Shop

// errSent is what the server of these tests answers.
var errSent = errors.New("it was sent")

// shopSchemas are the server's, which take long to parse.
var shopSchemas = sync.OnceValue(func() *schemas.Set { return schemas.New(openapitest.NewEmbeddedFileClient()) })

// newShopApplier sends nothing: what it would send is errSent. It knows the schemas that it needs.
func newShopApplier(t testing.TB, reader client.Reader) *Applier {
	t.Helper()
	a := newUnknowingApplier(t, reader)
	a.config.Steady.schemas = shopSchemas()
	for _, version := range []schema.GroupVersion{appsv1.SchemeGroupVersion, corev1.SchemeGroupVersion} {
		mustKnow(t, a.config.Steady.schemas, version)
	}
	return a
}

// newUnknowingApplier has yet to ask for schemas, by the clock of a bubble.
func newUnknowingApplier(t testing.TB, reader client.Reader) *Applier {
	t.Helper()
	c := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).Build(), interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			return errSent
		},
		SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
			return errSent
		},
	})
	steady, err := NewSteadyState(reader, openapitest.NewEmbeddedFileClient())
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(c, Config{FieldManager: "shop", LiveReader: c, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// shopCache has one Deployment, and gives it without a copy.
type shopCache struct {
	client.Reader
	deployment *appsv1.Deployment
	reads      int
}

func (c *shopCache) Get(_ context.Context, _ client.ObjectKey, object client.Object, options ...client.GetOption) error {
	var asked client.GetOptions
	asked.ApplyOptions(options)
	if asked.UnsafeDisableDeepCopy == nil || !*asked.UnsafeDisableDeepCopy {
		return errors.New("a copy of each object read is what the check has to save")
	}
	c.reads++
	*object.(*appsv1.Deployment) = *c.deployment
	return nil
}

// mustKnow waits for as long as a busy machine takes.
func mustKnow(t testing.TB, s *schemas.Set, version schema.GroupVersion) *schemas.Known {
	t.Helper()
	known, err := s.Of(t.Context(), version)
	for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		known, err = s.Of(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// applied is the Deployment as the server has it after an apply of the shop's: its
// defaults set, with the managed fields of the shop and three others.
func applied(t testing.TB, a *Applier) *appsv1.Deployment {
	t.Helper()
	encoded, err := encode(Intent{Config: shop()})
	if err != nil {
		t.Fatal(err)
	}
	known := mustKnow(t, a.config.Steady.schemas, appsv1.SchemeGroupVersion)
	wanted, err := known.Converter.ObjectToTyped(&unstructured.Unstructured{Object: encoded.Fields})
	if err != nil {
		t.Fatal(err)
	}
	all, err := wanted.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	fields, err := all.Difference(fieldpath.NewSet(
		fieldpath.MakePathOrDie("apiVersion"), fieldpath.MakePathOrDie("kind"), fieldpath.MakePathOrDie("metadata"),
		fieldpath.MakePathOrDie("metadata", "name"), fieldpath.MakePathOrDie("metadata", "namespace"))).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	live := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(encoded.Fields, live); err != nil {
		t.Fatal(err)
	}
	live.UID, live.ResourceVersion = "ab8ef7f6-2d0c-4d4e-b2ab-fdf7bf4d2b35", "1000"
	live.Spec.Replicas, live.Annotations = new(int32(3)), map[string]string{"example.com/audited": "yes"}
	live.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
	live.Spec.Template.Spec.Containers[0].Ports[0].Protocol = corev1.ProtocolTCP
	for _, entry := range []struct{ name, subresource, fields string }{
		{"autoscaler", "", `{"f:spec":{"f:replicas":{}}}`},
		{"auditor", "", `{"f:metadata":{"f:annotations":{"f:example.com/audited":{}}}}`},
		{"shop", "", string(fields)},
		{"kube-controller-manager", "status", `{"f:status":{"f:observedGeneration":{},"f:replicas":{}}}`},
	} {
		live.ManagedFields = append(live.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: entry.name, Operation: metav1.ManagedFieldsOperationApply, Subresource: entry.subresource,
			APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(entry.fields),
		})
	}
	return live
}
