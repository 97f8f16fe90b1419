package apply_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// TestDiffersOfBytesOfOtherKinds: only of the server's own kinds is it known that it spells
// bytes its own way.
func TestDiffersOfBytesOfOtherKinds(t *testing.T) {
	foreign := schema.GroupVersion{Group: "example.com", Version: "v1"}
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(foreign.WithKind("ConfigMap"), &corev1.ConfigMap{})
	for _, kind := range []schema.GroupVersionKind{foreign.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("ConfigMap")} {
		of := func(binary string, metadata map[string]any) map[string]any {
			metadata["name"], metadata["namespace"] = "web", "shop"
			return map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind, "metadata": metadata, "binaryData": map[string]any{"a": binary}}
		}
		answer := of("YWI=", map[string]any{"uid": "uid-1", "resourceVersion": "8",
			"managedFields": []any{entry(manager, "Apply", "", `{"f:binaryData":{"f:a":{}}}`)}})
		s := newScript(t, []step{{"PATCH", ok(answer)}})
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(kind, meta.RESTScopeNamespace)
		c, err := client.New(s.restConfig(true), client.Options{Scheme: known, Mapper: mapper})
		if err != nil {
			t.Fatal(err)
		}
		applier, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: loose(of("YWI=\n", map[string]any{}))})
		if err != nil || len(outcome.Differ) != 1 {
			t.Errorf("%v: %v, %v; want one difference", kind, outcome.Differ, err)
		}
	}
}
