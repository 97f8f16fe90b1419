package kit

import (
	"os"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

const NarrowFinalizer = "narrow.coapply.dev/ours"

const OurManager = "us"

// CasesOf is COAPPLY_CASES or what a test does without being asked for more.
func CasesOf(t *testing.T, otherwise int) int {
	t.Helper()
	text := os.Getenv("COAPPLY_CASES")
	if text == "" {
		return otherwise
	}
	cases, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("COAPPLY_CASES: %v", err)
	}
	return cases
}

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

func NewUnstructured(apiVersion, kind string, name client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}
