package steady

import (
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
