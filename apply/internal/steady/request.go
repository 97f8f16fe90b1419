package steady

import (
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Request describes an apply.
type Request struct {
	Manager     string
	Subresource string // "" or status
	Kind        schema.GroupVersionKind
	Config      map[string]any // what is applied
	GoType      reflect.Type   // of the kind, as the client's scheme knows it; nil where it does not
}

// Read is an object as it was read. It may be the cache's own, and is not written to.
type Read struct {
	client.Object

	Kind schema.GroupVersionKind // of the object's Go type in the client's scheme

	// Answer means that the object is the API server's unstructured response to a write. A
	// response has an entry for each manager that owns something. A cached object may lack
	// entries.
	Answer bool
}

const status = "status"

// contentOf returns an object as a value, with its kind and without its managed fields. The
// object is not changed.
func (r Request) contentOf(read Read) (value.Value, error) {
	if read.Kind != r.Kind {
		return nil, fmt.Errorf("it was read as %v", read.Kind)
	}
	object := read.Object
	if read, ok := object.(runtime.Unstructured); ok { // also types that embed an unstructured.Unstructured
		content := maps.Clone(read.UnstructuredContent())
		metadata, _ := content["metadata"].(map[string]any) // it has our entry
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
		return value.NewValueInterface(content), nil
	}
	shallow := reflect.New(reflect.TypeOf(object).Elem())
	shallow.Elem().Set(reflect.ValueOf(object).Elem())
	copied, _ := reflect.TypeAssert[client.Object](shallow) // as it was
	copied.SetManagedFields(nil)
	copied.GetObjectKind().SetGroupVersionKind(r.Kind) // typed objects are read without their kind
	return value.NewValueReflect(copied)
}
