package steady

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// sampleFiles are the manifests that users are shown.
var sampleFiles = []string{"config/samples/*.yaml", "docs/fieldowners/*.yaml", "examples/*/*.yaml"}

// TestSteadySamples: no manifest costs a request when it is applied again, by typed and by unstructured reads, while
// the controllers write the status.
func TestSteadySamples(t *testing.T) {
	t.Parallel()
	config := steadyConfig(t)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	steady := kit.NewSteadyState(t, config, c)
	applier, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Steady: steady})
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range sampleFiles {
		files, err := filepath.Glob(kit.File(pattern))
		if err != nil || len(files) == 0 {
			t.Fatal("no manifests at", pattern, err)
		}
		for _, file := range files {
			if name := filepath.Base(file); name != "kustomization.yaml" { // no object
				t.Run(name, func(t *testing.T) { applySample(t, c, steady, applier, namespace, file) })
			}
		}
	}
}

func applySample(t *testing.T, c client.Client, steady *apply.SteadyState, applier *apply.Applier, namespace, file string) {
	object := sampleIn(t, c, namespace, file)
	kit.WaitForSchema(t, steady, object.GroupVersionKind().GroupVersion())
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(object)}
	if outcome, err := applier.Apply(t.Context(), intent); err != nil || outcome.Requests == 0 {
		t.Fatalf("first: %+v, %v; want a request", outcome, err)
	}
	for _, read := range []client.Object{typedOf(t, c, object), kit.NewUnstructured(object.GetAPIVersion(), object.GetKind(), client.ObjectKey{})} {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), read); err != nil {
			t.Fatal(err)
		}
		intent.Read = read
		if outcome, err := applier.Apply(t.Context(), intent); err != nil || outcome.Requests > 0 {
			t.Errorf("second, read as %T: %+v, %v; want no request", read, outcome, err)
		}
	}
}

// sampleIn reads a manifest, and puts the object into a namespace if the kind has namespaces.
func sampleIn(t *testing.T, c client.Client, namespace, file string) *unstructured.Unstructured {
	t.Helper()
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	object := fromYAML(t, string(document))
	kind := object.GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		t.Fatal(err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		object.SetNamespace(namespace)
	}
	return object
}

// typedOf returns an empty object of the Go type of a kind.
func typedOf(t *testing.T, c client.Client, object runtime.Object) client.Object {
	t.Helper()
	known, err := c.Scheme().New(object.GetObjectKind().GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	typed, _ := known.(client.Object)
	return typed
}
