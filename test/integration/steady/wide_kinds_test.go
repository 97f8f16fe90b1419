package steady

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/yaml"

	"coapply.dev/test/kit/model"
)

// builtinKinds are those of testdata/kinds.yaml, in the shapes that the server's schemas give them.
func builtinKinds(t *testing.T, c client.Client, schemas openapi.Client) []steadyKind {
	t.Helper()
	raw, err := os.ReadFile("testdata/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	types := serverTypes(t, schemas)
	var kinds []steadyKind
	samples := map[schema.GroupVersionKind][]any{}
	for document := range strings.SplitSeq(string(raw), "---\n") {
		object := fromYAML(t, document)
		kind := object.GroupVersionKind()
		typed, err := types.ObjectToTyped(object)
		if err != nil {
			t.Fatalf("%v: %v", kind, err)
		}
		delete(object.Object, "apiVersion")
		delete(object.Object, "kind")
		if samples[kind] = append(samples[kind], object.Object); len(samples[kind]) == 1 {
			kinds = append(kinds, builtinKind(t, c, kind, object.Object))
		}
		kinds[len(kinds)-1].forms[0].shape = steadyShape(shapeFrom(typed.Schema(), typed.TypeRef(), samples[kind]).Fields)
	}
	return kinds
}

// builtinKind is a kind whose shape is not known yet.
func builtinKind(t *testing.T, c client.Client, kind schema.GroupVersionKind, first map[string]any) steadyKind {
	t.Helper()
	namespaced, err := apiutil.IsGVKNamespaced(kind, c.RESTMapper())
	if err != nil {
		t.Fatal(err)
	}
	return steadyKind{
		base: baseOf(t, first), cluster: !namespaced,
		lingers: slices.Contains([]string{"Namespace", "PersistentVolume", "PersistentVolumeClaim", "Pod"}, kind.Kind),
		forms: []steadyForm{{
			GroupVersionKind: kind,
			typed: func() runtime.ApplyConfiguration {
				return applyconfigurations.ForKind(kind).(runtime.ApplyConfiguration) //nolint:forcetypeassert // all are
			},
		}},
	}
}

func fromYAML(t *testing.T, document string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	encoded, err := yaml.YAMLToJSON([]byte(document))
	if err == nil {
		err = utiljson.Unmarshal(encoded, &object.Object) // with integers
	}
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// baseOf is what makes an object valid: all but its status.
func baseOf(t *testing.T, content map[string]any) string {
	t.Helper()
	content = runtime.DeepCopyJSON(content)
	delete(content, "status")
	base, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(base)
}

// serverTypes are the server's own, of all kinds.
func serverTypes(t *testing.T, schemas openapi.Client) managedfields.TypeConverter {
	t.Helper()
	paths, err := schemas.Paths()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*spec.Schema{}
	for _, path := range paths {
		raw, err := path.Schema(runtime.ContentTypeJSON)
		if err != nil {
			t.Fatal(err)
		}
		group := &spec3.OpenAPI{}
		if err := group.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		if group.Components != nil {
			maps.Copy(all, group.Components.Schemas)
		}
	}
	types, err := managedfields.NewTypeConverter(all, false)
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// shapeFrom is the shape of what samples of a type have.
func shapeFrom(types *smd.Schema, of smd.TypeRef, samples []any) *model.Shape {
	atom, _ := types.Resolve(of)
	switch samples[0].(type) {
	case map[string]any:
		if atom.Map != nil && atom.Map.ElementRelationship != smd.Atomic {
			return mapFrom(types, atom.Map, samples)
		}
	case []any:
		if atom.List != nil && atom.List.ElementRelationship == smd.Associative {
			return listFrom(types, atom.List, samples)
		}
	}
	return &model.Shape{Samples: slices.CompactFunc(slices.Clone(samples), reflect.DeepEqual)}
}

func mapFrom(types *smd.Schema, of *smd.Map, samples []any) *model.Shape {
	values := map[string][]any{}
	var all []any
	for _, sample := range samples {
		fields, _ := sample.(map[string]any)
		for name, value := range fields {
			values[name] = append(values[name], value)
			all = append(all, value)
		}
	}
	if len(of.Fields) == 0 {
		names := make([]string, 0, len(values))
		for name := range values {
			names = append(names, name)
		}
		slices.Sort(names)
		return mapOf(shapeFrom(types, of.ElementType, all), names...)
	}
	fields := map[string]*model.Shape{}
	for name, found := range values {
		ref := of.ElementType
		if field, known := of.FindField(name); known {
			ref = field.Type
		}
		fields[name] = shapeFrom(types, ref, found)
	}
	return model.ObjectOf(fields)
}

func listFrom(types *smd.Schema, of *smd.List, samples []any) *model.Shape {
	var items []any
	for _, sample := range samples {
		list, _ := sample.([]any)
		items = append(items, list...)
	}
	elem := shapeFrom(types, of.ElementType, items)
	if len(of.Keys) == 0 {
		return &model.Shape{Kind: model.SetShape, Elem: elem}
	}
	if atom, _ := types.Resolve(of.ElementType); atom.Map != nil {
		for _, key := range of.Keys {
			if field, known := atom.Map.FindField(key); known && field.Default != nil {
				if elem.Defaults == nil {
					elem.Defaults = map[string]any{}
				}
				elem.Defaults[key] = field.Default
			}
		}
	}
	keys := slices.DeleteFunc(slices.Sorted(slices.Values(of.Keys)), func(key string) bool { return elem.Fields[key] == nil })
	return &model.Shape{Kind: model.ListShape, Keys: keys, Elem: elem}
}
