package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// modelKind is a kind of object that the model knows.
type modelKind struct {
	schema.GroupVersionKind

	shape *modelShape
}

var (
	words  = &modelShape{samples: []any{"one", "two", `a "quoted" ü`}}
	counts = &modelShape{samples: []any{int64(1), int64(2)}}

	// awkward keys have what paths, quoting and the server's own strings trip over.
	awkward = []string{"plain", "a.b/c", "a.b", `say "hi"`, "größe", "with space", "a[0]", `back\slash`, ""}

	metadataShape = objectOf(map[string]*modelShape{
		"labels":      {kind: mapShape, elem: &modelShape{samples: []any{"one", "two"}}, names: []string{"app", "a.b/c"}, vanishes: true},
		"annotations": {kind: mapShape, elem: words, names: []string{"plain", "x.y/z", "x.y/z.z"}, vanishes: true},
	})

	configMapKind = modelKind{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		shape: objectOf(map[string]*modelShape{
			"metadata": metadataShape,
			"data":     {kind: mapShape, elem: words, names: []string{"plain", "a.b", "a.b.c", "x-y_z"}, vanishes: true},
			"binaryData": {kind: mapShape, elem: &modelShape{samples: []any{"AAAA", "AQID"}},
				names: []string{"bin", "bin.b"}, vanishes: true},
		}),
	}

	sampleKind = modelKind{
		GroupVersionKind: schema.GroupVersionKind{Group: "model.coapply.dev", Version: "v1", Kind: "Sample"},
		shape: objectOf(map[string]*modelShape{
			"metadata": metadataShape,
			"spec":     specShape,
			"status":   statusShape,
		}),
	}

	statusShape = objectOf(map[string]*modelShape{
		"phase":    words,
		"observed": counts,
		"conditions": {kind: listShape, keys: []string{"type"}, elem: objectOf(map[string]*modelShape{
			"type":   {samples: []any{"Ready", "Synced", "Odd"}},
			"status": {samples: []any{"True", "False"}},
			"reason": words,
		})},
	})

	specShape = objectOf(map[string]*modelShape{
		"title":   words,
		"count":   counts,
		"enabled": {samples: []any{true, false}},
		"size":    {samples: []any{int64(5), "5%"}},
		"free":    {kind: mapShape, elem: words, names: awkward},
		"things": {kind: mapShape, names: []string{"cup", "tea.pot"}, elem: objectOf(map[string]*modelShape{
			"color": words, "price": counts})},
		"selector": {samples: []any{map[string]any{"a": "one"}, map[string]any{"a": "two", "b.c": "x"}}},
		"tags":     {kind: setShape, elem: &modelShape{samples: []any{"red", "green", "b.l/ue", `"q"`}}},
		"order":    {samples: []any{[]any{"x", "y"}, []any{"y", "x"}, []any{"z"}}},
		"steps":    {samples: []any{[]any{map[string]any{"do": "x"}}, []any{map[string]any{"do": "y"}, map[string]any{"do": "x"}}}},
		"items": {kind: listShape, keys: []string{"name"}, elem: objectOf(map[string]*modelShape{
			"name":  {samples: []any{"web", "db", "a.b"}},
			"image": words,
			"args":  {samples: []any{[]any{"-a"}, []any{"-b", "-a"}}},
			"flags": {kind: setShape, elem: &modelShape{samples: []any{int64(1), int64(2)}}},
			"opts":  {kind: mapShape, elem: words, names: []string{"k.1", "k2"}},
			"env": {kind: listShape, keys: []string{"name"}, elem: objectOf(map[string]*modelShape{
				"name": {samples: []any{"HOME", "P.ATH"}}, "value": words})},
		})},
		"ports": {kind: listShape, keys: []string{"port", "protocol"}, elem: &modelShape{kind: objectShape,
			defaults: map[string]any{"protocol": "TCP"},
			fields: map[string]*modelShape{
				"port":     {samples: []any{int64(80), int64(443)}},
				"protocol": {samples: []any{"TCP", "UDP"}},
				"alias":    words,
				"target":   counts,
			}}},
		"nested": objectOf(map[string]*modelShape{
			"name": words,
			"deep": objectOf(map[string]*modelShape{"er": words, "list": {kind: listShape, keys: []string{"id"},
				elem: objectOf(map[string]*modelShape{"id": counts, "note": words})}}),
		}),
	})
)

func objectOf(fields map[string]*modelShape) *modelShape {
	return &modelShape{kind: objectShape, fields: fields}
}

// openAPI is the shape as the schema of a CRD.
func (s *modelShape) openAPI() map[string]any {
	switch s.kind {
	case objectShape:
		properties := map[string]any{}
		for name, field := range s.fields {
			property := field.openAPI()
			if value := s.defaults[name]; value != nil {
				property["default"] = value
			}
			properties[name] = property
		}
		return map[string]any{"type": "object", "properties": properties}
	case mapShape:
		return map[string]any{"type": "object", "additionalProperties": s.elem.openAPI()}
	case listShape:
		items := s.elem.openAPI()
		items["required"] = slices.DeleteFunc(slices.Clone(s.keys), func(key string) bool { return s.elem.defaults[key] != nil })
		return map[string]any{"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": s.keys, "items": items}
	case setShape:
		return map[string]any{"type": "array", "x-kubernetes-list-type": "set", "items": s.elem.openAPI()}
	}
	if s.schema != nil {
		return s.schema
	}
	return leafOpenAPI(s.samples)
}

// leafOpenAPI tells the type of a leaf by its samples.
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

// installSamples makes the server know sampleKind.
var installSamples = sync.OnceValue(func() error {
	s, err := sharedServer()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "model-crd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	crd, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "samples.model.coapply.dev"},
		"spec": map[string]any{
			"group": "model.coapply.dev", "scope": "Namespaced",
			"names": map[string]any{"kind": "Sample", "listKind": "SampleList", "plural": "samples", "singular": "sample"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": objectOf(map[string]*modelShape{
					"spec": specShape, "status": statusShape}).openAPI()},
			}},
		},
	})
	if err != nil {
		return err
	}
	file := filepath.Join(folder, "crd.json")
	if err := os.WriteFile(file, crd, 0o600); err != nil {
		return err
	}
	_, err = envtest.InstallCRDs(s.Config(), envtest.CRDInstallOptions{Paths: []string{file}, ErrorIfPathMissing: true})
	return err
})

// modelServer is the shared API server with the kinds of the model.
func modelServer(t testing.TB) *rest.Config {
	t.Helper()
	config := server(t)
	if err := installSamples(); err != nil {
		t.Fatal(err)
	}
	return config
}
