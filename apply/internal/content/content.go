// Package content looks at what objects hold, as encoding/json has it.
package content

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Within reports whether something is true of a value, or of one below it.
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

// SameQuantity reports whether two texts are one quantity, as 1000m and 1 are.
func SameQuantity(a, b string) bool {
	first, err := resource.ParseQuantity(a)
	second, err2 := resource.ParseQuantity(b)
	return err == nil && err2 == nil && first.Cmp(second) == 0
}

// Copy returns an object as an unstructured one of its own.
func Copy(object client.Object) (*unstructured.Unstructured, error) {
	if read, ok := object.(runtime.Unstructured); ok {
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(read.UnstructuredContent())}, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}
