package content

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// inconvertible is an object with a field that has no JSON.
type inconvertible struct {
	corev1.ConfigMap

	Channel chan int `json:"channel"`
}

func TestCopy(t *testing.T) {
	raw := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"k": "v"}}}
	for _, object := range []client.Object{raw, &corev1.ConfigMap{Data: map[string]string{"k": "v"}}} {
		copied, err := Copy(object)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, _ := unstructured.NestedString(copied.Object, "data", "k"); got != "v" {
			t.Errorf("%T: %v", object, copied)
		}
		if err := unstructured.SetNestedField(copied.Object, "changed", "data", "k"); err != nil {
			t.Fatal(err)
		}
	}
	if got, _, _ := unstructured.NestedString(raw.Object, "data", "k"); got != "v" {
		t.Errorf("what was copied changed with the copy: %v", raw)
	}
	if _, err := Copy(&inconvertible{Channel: make(chan int)}); err == nil {
		t.Error("no error for what cannot be converted")
	}
}
