package platform

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// TestBytesInAnotherSpelling: the API server reads bytes, with line breaks in their base64 or
// without, and writes them without. That is what was wanted. The same text in a field that is
// no bytes is kept as it is.
func TestBytesInAnotherSpelling(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	const broken, whole = "aGVs\nbG8=\n", "aGVsbG8="
	for _, test := range []struct{ kind, field, live string }{
		{"Secret", "data", whole},
		{"ConfigMap", "binaryData", whole},
		{"ConfigMap", "data", broken},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": test.kind,
			"metadata": map[string]any{"namespace": namespace, "name": "bytes"},
			test.field: map[string]any{test.field: broken},
		}}
		outcome, err := us.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(object)})
		if err != nil {
			t.Fatal(err)
		}
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "bytes"}, live); err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(live.Object, test.field, test.field); got != test.live {
			t.Errorf("%s .%s: the API server has %q, want %q", test.kind, test.field, got, test.live)
		}
		if got := fmt.Sprint(outcome.Differ); got != "[]" {
			t.Errorf("%s .%s: %s", test.kind, test.field, got)
		}
	}
}
