package applytest

import (
	"embed"
	"encoding/json"
	"io/fs"
	"maps"
	"net/http"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// openapiFiles are OpenAPI documents of kube-apiserver, without descriptions, and with the schemas of only those kinds that
// the server serves. The name of a file is the path of the document, with _ in place of /.
//
//go:embed openapi/*.json
var openapiFiles embed.FS

// openapi contains the OpenAPI documents of the built-in kinds, their schemas, and a type converter.
type openapi struct {
	documents map[string]*spec3.OpenAPI // by path, such as api/v1
	schemas   map[string]*spec.Schema
	converter managedfields.TypeConverter
}

// builtinOpenAPI returns the content of openapiFiles. The files are decoded once in a process.
var builtinOpenAPI = sync.OnceValues(func() (*openapi, error) {
	read := &openapi{documents: map[string]*spec3.OpenAPI{}, schemas: map[string]*spec.Schema{}}
	files, err := fs.ReadDir(openapiFiles, "openapi")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		raw, err := openapiFiles.ReadFile("openapi/" + file.Name())
		if err != nil {
			return nil, err
		}
		document := &spec3.OpenAPI{}
		if err := json.Unmarshal(raw, document); err != nil {
			return nil, err
		}
		read.documents[strings.ReplaceAll(strings.TrimSuffix(file.Name(), ".json"), "_", "/")] = document
		maps.Copy(read.schemas, document.Components.Schemas)
	}
	read.converter, err = managedfields.NewTypeConverter(read.schemas, false)
	return read, err
})

// serveOpenAPI serves the OpenAPI documents of the built-in kinds. crds.publish adds the documents of custom resources.
func (s *Server) serveOpenAPI(on *http.ServeMux) error {
	builtin, err := builtinOpenAPI()
	if err != nil {
		return err
	}
	s.openapi = handler3.NewOpenAPIService()
	for path, document := range builtin.documents {
		s.openapi.UpdateGroupVersion(path, document)
	}
	paths := mux.NewPathRecorderMux("openapi")
	on.Handle("/openapi/", paths)
	return s.openapi.RegisterOpenAPIV3VersionedService("/openapi/v3", paths)
}
