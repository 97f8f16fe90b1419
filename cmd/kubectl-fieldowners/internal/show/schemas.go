package show

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi3"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// serverSchemas has the API server's own schemas, from /openapi/v3, which it uses for applies. Its zero
// value has none.
type serverSchemas struct {
	root  openapi3.Root                                       // nil: it cannot be asked
	known map[schema.GroupVersion]managedfields.TypeConverter // nil: there is none
}

// schemasOf returns the schemas of the server, each of which is asked for when it is needed.
func schemasOf(r *objects.Reader) serverSchemas {
	s := serverSchemas{known: map[schema.GroupVersion]managedfields.TypeConverter{}}
	if client, err := r.Config.ToDiscoveryClient(); err == nil {
		s.root = openapi3.NewRoot(client.OpenAPIV3())
	}
	return s
}

// of returns the schemas of a version, nil if there are none.
func (s serverSchemas) of(version schema.GroupVersion) managedfields.TypeConverter {
	known, asked := s.known[version]
	if asked || s.root == nil {
		return known
	}
	if document, err := s.root.GVSpec(version); err == nil && document.Components != nil {
		known, _ = managedfields.NewTypeConverter(document.Components.Schemas, false) // nil with an error
	}
	s.known[version] = known
	return known
}

// builtInSchemas returns the schemas of the Kubernetes that the plugin was built with, nil if it does
// not have the kind.
func builtInSchemas(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if _, known := scheme.Scheme.AllKnownTypes()[kind]; !known {
		return nil
	}
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
}
