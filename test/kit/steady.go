package kit

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// NarrowFinalizer is a finalizer that tests set and remove by narrow writes.
const NarrowFinalizer = "narrow.coapply.dev/ours"

// OurManager is the field manager under test.
const OurManager = "us"

// NewSteadyState returns a new no-op check that has already read the schemas of core/v1, apps/v1 and the given
// versions. Otherwise an apply would wait for a schema for at most one second, which may be too short on a busy
// machine. The API server publishes the schema of a custom resource some time after its CRD.
func NewSteadyState(t testing.TB, config *rest.Config, reader client.Reader, others ...schema.GroupVersion) *apply.SteadyState {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if live, ok := reader.(client.Client); ok {
		reader = patient{live}
	}
	steady, err := apply.NewSteadyState(reader, server.OpenAPIV3())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range append(others, corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion) {
		WaitForSchema(t, steady, version)
	}
	return steady
}

// patient reads from the API server without the time limit of a read from a cache: on a busy machine, a request can take
// more than a second.
type patient struct{ client.Client }

func (p patient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return p.Client.Get(context.WithoutCancel(ctx), key, object, options...)
}

// WaitForSchema waits until the schema of a version is known.
func WaitForSchema(t testing.TB, steady *apply.SteadyState, version schema.GroupVersion) {
	t.Helper()
	WaitFor(t, "the schema of "+version.String(), func() string {
		if _, err := steady.Schemas(t.Context(), version); err != nil {
			return err.Error()
		}
		return ""
	})
}

// NewUnstructured returns an object that has only a kind and a name.
func NewUnstructured(apiVersion, kind string, name client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}
