package kit

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// NarrowFinalizer is a finalizer of ours.
const NarrowFinalizer = "narrow.coapply.dev/ours"

// OurManager is the field manager under test.
const OurManager = "us"

// NewSteadyState is what a process that has just started knows.
func NewSteadyState(t testing.TB, config *rest.Config, reader client.Reader) *apply.SteadyState {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	steady, err := apply.NewSteadyState(reader, server.OpenAPIV3())
	if err != nil {
		t.Fatal(err)
	}
	return steady
}

// NewUnstructured returns an object that has a kind and a name only.
func NewUnstructured(apiVersion, kind string, name client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}
