package apply

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// contentOf gives an object as a value, with its kind and without its managed fields.
// What changes is a copy.
func (r steadyRequest) contentOf(read steadyRead) (value.Value, error) {
	if read.kind != r.kind {
		return nil, fmt.Errorf("it was read as %v", read.kind)
	}
	object := read.Object
	if read, ok := object.(runtime.Unstructured); ok { // types that embed an unstructured.Unstructured, too
		content := maps.Clone(read.UnstructuredContent())
		if metadata, ok := content["metadata"].(map[string]any); ok {
			metadata = maps.Clone(metadata)
			delete(metadata, "managedFields")
			content["metadata"] = metadata
		}
		return value.NewValueInterface(content), nil
	}
	shallow := reflect.New(reflect.TypeOf(object).Elem())
	shallow.Elem().Set(reflect.ValueOf(object).Elem())
	if copied, ok := reflect.TypeAssert[client.Object](shallow); ok {
		copied.SetManagedFields(nil)
		copied.GetObjectKind().SetGroupVersionKind(r.kind) // typed objects are read without
	}
	return value.NewValueReflect(shallow.Interface())
}

// asUnstructured gives a copy: what is judged by it is told to the caller.
func asUnstructured(object client.Object) (*unstructured.Unstructured, error) {
	if read, ok := object.(runtime.Unstructured); ok {
		return &unstructured.Unstructured{Object: runtime.DeepCopyJSON(read.UnstructuredContent())}, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return &unstructured.Unstructured{Object: content}, err
}
