// Package content compares the contents of objects, in the types of encoding/json.
package content

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Within reports whether is returns true for a value, or for one below it.
func Within(content any, is func(any) bool) bool {
	if is(content) {
		return true
	}
	switch content := content.(type) {
	case map[string]any:
		for _, below := range content {
			if Within(below, is) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(content, func(item any) bool { return Within(item, is) })
	}
	return false
}

// SameQuantity reports whether two texts are the same quantity, as 1000m and 1 are.
func SameQuantity(a, b string) bool {
	first, err := resource.ParseQuantity(a)
	second, err2 := resource.ParseQuantity(b)
	return err == nil && err2 == nil && first.Cmp(second) == 0
}

// Copy returns a deep copy of an object, as an unstructured one.
func Copy(object client.Object) (*unstructured.Unstructured, error) {
	if read, ok := object.(runtime.Unstructured); ok {
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(read.UnstructuredContent())}, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}
