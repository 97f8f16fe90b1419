package model

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/test/kit"
)

// Kind is a kind of object that the model knows.
type Kind struct {
	schema.GroupVersionKind

	Shape *Shape
}

var (
	// Words is the shape of a field with a text.
	Words = &Shape{Samples: []any{"one", "two", `a "quoted" ü`}}
	// Counts is the shape of a field with a number.
	Counts = &Shape{Samples: []any{int64(1), int64(2)}}

	// awkward are map keys that are hard to write in a path, and to find in a message of the API server.
	awkward = []string{"plain", "a.b/c", "a.b", `say "hi"`, "größe", "with space", "a[0]", `back\slash`, ""}

	// MetadataShape is the shape of the metadata of every kind.
	MetadataShape = ObjectOf(map[string]*Shape{
		"labels":      {Kind: MapShape, Elem: &Shape{Samples: []any{"one", "two"}}, Names: []string{"app", "a.b/c"}, Vanishes: true},
		"annotations": {Kind: MapShape, Elem: Words, Names: []string{"plain", "x.y/z", "x.y/z.z"}, Vanishes: true},
	})

	// ConfigMapKind is the built-in kind ConfigMap.
	ConfigMapKind = Kind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		Shape: ObjectOf(map[string]*Shape{
			"metadata": MetadataShape,
			"data":     {Kind: MapShape, Elem: Words, Names: []string{"plain", "a.b", "a.b.c", "x-y_z"}, Vanishes: true},
			"binaryData": {Kind: MapShape, Elem: &Shape{Samples: []any{"AAAA", "AQID"}},
				Names: []string{"bin", "bin.b"}, Vanishes: true},
		}),
	}

	// SampleKind is a custom kind with every sort of field.
	SampleKind = Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "model.coapply.dev", Version: "v1", Kind: "Sample"},
		Shape: ObjectOf(map[string]*Shape{
			"metadata": MetadataShape,
			"spec":     SpecShape,
			"status":   StatusShape,
		}),
	}

	sizes    = &Shape{Samples: []any{int64(1), int64(2), int64(-1)}}
	oneOrTwo = &Shape{Samples: []any{"one", "two"}}

	// ShapeKind is the kind of test/kit/testdata/shapes.yaml. It has the subresource scale.
	ShapeKind = Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "test.coapply.dev", Version: "v1", Kind: "Shape"},
		Shape: ObjectOf(map[string]*Shape{
			"metadata": MetadataShape,
			"spec": ObjectOf(map[string]*Shape{
				"size": sizes, "title": oneOrTwo, "port": {Samples: []any{int64(80), "http"}},
				"free": {Kind: MapShape, Elem: oneOrTwo, Names: []string{"a", "b.c"}},
				"tags": {Kind: SetShape, Elem: oneOrTwo},
				"any":  {Samples: []any{"x", int64(1), map[string]any{"a": "b"}, []any{"x"}}},
				"parts": {Kind: ListShape, Keys: []string{"name"}, Elem: ObjectOf(map[string]*Shape{
					"name": oneOrTwo, "color": oneOrTwo, "marks": {Kind: MapShape, Elem: oneOrTwo, Names: []string{"a", "b"}},
				})},
			}),
			"status": ObjectOf(map[string]*Shape{
				"size": sizes, "phase": oneOrTwo,
				"conditions": {Kind: ListShape, Keys: []string{"type"}, Elem: ObjectOf(map[string]*Shape{"type": oneOrTwo, "status": oneOrTwo, "message": oneOrTwo})},
			}),
		}),
	}

	// StatusShape describes the fields of a Sample's status.
	StatusShape = ObjectOf(map[string]*Shape{
		"phase":    Words,
		"observed": Counts,
		"conditions": {Kind: ListShape, Keys: []string{"type"}, Elem: ObjectOf(map[string]*Shape{
			"type":   {Samples: []any{"Ready", "Synced", "Odd"}},
			"status": {Samples: []any{"True", "False"}},
			"reason": Words,
		})},
	})

	// SpecShape is the spec of a Sample.
	SpecShape = ObjectOf(map[string]*Shape{
		"title":   Words,
		"count":   Counts,
		"enabled": {Samples: []any{true, false}},
		"size":    {Samples: []any{int64(5), "5%"}},
		"free":    {Kind: MapShape, Elem: Words, Names: awkward},
		"things": {Kind: MapShape, Names: []string{"cup", "tea.pot"}, Elem: ObjectOf(map[string]*Shape{
			"color": Words, "price": Counts})},
		"selector": {Samples: []any{map[string]any{"a": "one"}, map[string]any{"a": "two", "b.c": "x"}}},
		"tags":     {Kind: SetShape, Elem: &Shape{Samples: []any{"red", "green", "b.l/ue", `"q"`}}},
		"order":    {Samples: []any{[]any{"x", "y"}, []any{"y", "x"}, []any{"z"}}},
		"steps":    {Samples: []any{[]any{map[string]any{"do": "x"}}, []any{map[string]any{"do": "y"}, map[string]any{"do": "x"}}}},
		"items": {Kind: ListShape, Keys: []string{"name"}, Elem: ObjectOf(map[string]*Shape{
			"name":  {Samples: []any{"web", "db", "a.b"}},
			"image": Words,
			"args":  {Samples: []any{[]any{"-a"}, []any{"-b", "-a"}}},
			"flags": {Kind: SetShape, Elem: &Shape{Samples: []any{int64(1), int64(2)}}},
			"opts":  {Kind: MapShape, Elem: Words, Names: []string{"k.1", "k2"}},
			"env": {Kind: ListShape, Keys: []string{"name"}, Elem: ObjectOf(map[string]*Shape{
				"name": {Samples: []any{"HOME", "P.ATH"}}, "value": Words})},
		})},
		"ports": {Kind: ListShape, Keys: []string{"port", "protocol"}, Elem: &Shape{Kind: ObjectShape,
			Defaults: map[string]any{"protocol": "TCP"},
			Fields: map[string]*Shape{
				"port":     {Samples: []any{int64(80), int64(443)}},
				"protocol": {Samples: []any{"TCP", "UDP"}},
				"alias":    Words,
				"target":   Counts,
			}}},
		"nested": ObjectOf(map[string]*Shape{
			"name": Words,
			"deep": ObjectOf(map[string]*Shape{"er": Words, "list": {Kind: ListShape, Keys: []string{"id"},
				Elem: ObjectOf(map[string]*Shape{"id": Counts, "note": Words})}}),
		}),
	})
)

// ObjectOf returns the shape of an object with the given fields.
func ObjectOf(fields map[string]*Shape) *Shape {
	return &Shape{Kind: ObjectShape, Fields: fields}
}

// OpenAPI returns the schema of the shape for a CRD.
func (s *Shape) OpenAPI() map[string]any {
	if s.Schema != nil {
		return s.Schema
	}
	switch s.Kind {
	case ObjectShape:
		properties := map[string]any{}
		for name, field := range s.Fields {
			property := field.OpenAPI()
			if value := s.Defaults[name]; value != nil {
				property["default"] = value
			}
			properties[name] = property
		}
		return map[string]any{"type": "object", "properties": properties}
	case MapShape:
		return map[string]any{"type": "object", "additionalProperties": s.Elem.OpenAPI()}
	case ListShape:
		items := s.Elem.OpenAPI()
		items["required"] = slices.DeleteFunc(slices.Clone(s.Keys), func(key string) bool { return s.Elem.Defaults[key] != nil })
		return map[string]any{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": s.Keys, "items": items}
	case SetShape:
		return map[string]any{"type": "array", "x-kubernetes-list-type": "set", "items": s.Elem.OpenAPI()}
	}
	return leafOpenAPI(s.Samples)
}

// leafOpenAPI returns the schema of a leaf, inferred from its samples.
func leafOpenAPI(samples []any) map[string]any {
	text := map[string]any{"type": "string"}
	switch first := samples[0].(type) {
	case int64:
		if _, mixed := samples[1].(string); mixed {
			return map[string]any{"x-kubernetes-int-or-string": true}
		}
		return map[string]any{"type": "integer"}
	case bool:
		return map[string]any{"type": "boolean"}
	case map[string]any:
		return map[string]any{"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": text}
	case []any:
		return map[string]any{"type": "array", "x-kubernetes-list-type": "atomic", "items": leafOpenAPI(first)}
	}
	return text
}

// CRD returns the CRD of a kind with some versions. The first version is the storage version.
func CRD(plural string, shape *Shape, kinds ...schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	var versions []any
	for i, kind := range kinds {
		version := map[string]any{
			"name": kind.Version, "served": true, "storage": i == 0,
			"schema": map[string]any{"openAPIV3Schema": shape.OpenAPI()},
		}
		if shape.Fields["status"] != nil {
			version["subresources"] = map[string]any{"status": map[string]any{}}
		}
		versions = append(versions, version)
	}
	group, kind := kinds[0].Group, kinds[0].Kind
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind)},
		},
	})
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := errors.Join(err, json.Unmarshal(raw, crd)); err != nil {
		panic(err) // a shape of a test has no schema
	}
	return crd
}

// installSamples installs the CRD of SampleKind.
var installSamples = kit.OncePerServer(func(config *rest.Config) error {
	crd := CRD("samples", ObjectOf(map[string]*Shape{"spec": SpecShape, "status": StatusShape}), SampleKind.GroupVersionKind)
	_, err := kit.InstallCRDs(config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	return err
})

// Server returns a client configuration of the shared API server, with the CRD of SampleKind.
func Server(t testing.TB) *rest.Config {
	t.Helper()
	installSamples(t)
	return kit.Server(t)
}
