package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
)

// saved is a client of a cluster that was saved to files: it reads the objects of --live, and computes with the schemas of
// --openapi. Any request that is not a read would be a mistake of this program, and panics.
type saved struct {
	client.WithWatch

	objects map[savedKey]*unstructured.Unstructured
	schemas map[schema.GroupVersionKind]managedfields.TypeConverter
	mapper  *meta.DefaultRESTMapper // of the kinds in --openapi, with guessed resource names
}

type savedKey struct {
	kind            schema.GroupKind
	namespace, name string
}

// openSaved reads the files of --live and --openapi.
func openSaved(r *objects.Reader, live, schemas []string) (*saved, error) {
	s := &saved{
		objects: map[savedKey]*unstructured.Unstructured{},
		schemas: map[schema.GroupVersionKind]managedfields.TypeConverter{},
		mapper:  meta.NewDefaultRESTMapper(nil),
	}
	for _, file := range schemas {
		if err := s.readSchemas(r, file); err != nil {
			return nil, err
		}
	}
	return s, r.ReadFiles(live, func(item objects.Item) error {
		object := &unstructured.Unstructured{Object: item.Content}
		s.objects[savedKey{object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()}] = object
		return nil
	})
}

func (s *saved) readSchemas(r *objects.Reader, file string) error {
	source, content, err := r.ReadFile(file)
	if err != nil {
		return err
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(content, &document); err != nil || document.Components == nil || len(document.Components.Schemas) == 0 {
		return fmt.Errorf("%s is not an OpenAPI v3 document with schemas; save a document for --openapi by, for example, kubectl get --raw /openapi/v3/apis/apps/v1", source)
	}
	types, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	namespaced := map[schema.GroupVersionKind]bool{}
	if document.Paths != nil {
		for path, operations := range document.Paths.Paths {
			if operations.Post != nil && strings.Contains(path, "/namespaces/{namespace}/") {
				namespaced[kindsOf[schema.GroupVersionKind](operations.Post.Extensions)] = true
			}
		}
	}
	for _, one := range document.Components.Schemas {
		for _, kind := range kindsOf[[]schema.GroupVersionKind](one.Extensions) {
			s.schemas[kind] = types
			scope := meta.RESTScopeRoot
			if namespaced[kind] {
				scope = meta.RESTScopeNamespace
			}
			s.mapper.Add(kind, scope)
		}
	}
	return nil
}

// kindsOf returns the kind or the kinds that a part of a document is about, or the zero value.
func kindsOf[T any](extensions spec.Extensions) (kinds T) {
	if text, err := json.Marshal(extensions["x-kubernetes-group-version-kind"]); err == nil {
		_ = json.Unmarshal(text, &kinds) // a part without this extension is about no kind
	}
	return kinds
}

// schemasOf returns the schemas of a kind, for computing an apply.
func (s *saved) schemasOf(kind schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if types := s.schemas[kind]; types != nil {
		return types, nil
	}
	return nil, fmt.Errorf("the result is not certain: no file of --openapi has the schema of %s; save the schema by kubectl get --raw /openapi/v3/%s", kind, rawPath(kind.GroupVersion()))
}

func rawPath(of schema.GroupVersion) string {
	if of.Group == "" {
		return "api/" + of.Version
	}
	return "apis/" + of.String()
}

func (s *saved) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind()
	found := s.objects[savedKey{kind.GroupKind(), key.Namespace, key.Name}]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name)
	}
	if len(found.GetManagedFields()) == 0 {
		return errors.New("the result is not certain: the object in --live has no managed fields, so the owners are not known; save the object by kubectl get -o yaml --show-managed-fields")
	}
	if version := found.GroupVersionKind().Version; version != kind.Version {
		return fmt.Errorf("the result is not certain: the object in --live has the version %s, and only the API server can convert the object to %s; use the same version in -f and --live", version, kind.Version)
	}
	into.(*unstructured.Unstructured).Object = found.DeepCopy().Object //nolint:forcetypeassert // check reads unstructured objects only
	return nil
}

func (s *saved) RESTMapper() meta.RESTMapper { return s.mapper }

func (s *saved) IsObjectNamespaced(object runtime.Object) (bool, error) {
	kind := object.GetObjectKind().GroupVersionKind()
	if _, err := s.schemasOf(kind); err != nil {
		return false, err
	}
	return apiutil.IsGVKNamespaced(kind, s.mapper)
}
