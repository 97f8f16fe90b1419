package steady

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

var gadgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}

// gadget is a custom resource as an older client knows it.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec gadgetSpec `json:"spec"`
}

type gadgetSpec struct {
	gadgetSize `json:",inline"`

	Name   string                       `json:"name,omitempty"`
	Port   intstr.IntOrString           `json:"port"`
	Size   *resource.Quantity           `json:"size,omitempty"`
	Wait   metav1.Duration              `json:"wait"`
	Limits corev1.ResourceList          `json:"limits,omitempty"`
	Parts  []gadgetPart                 `json:"parts,omitempty"`
	Labels map[string]string            `json:"labels,omitempty"`
	Pick   map[string]map[string]string `json:"pick,omitempty"`
	Blob   []byte                       `json:"blob,omitempty"`
	Any    runtime.RawExtension         `json:"any"`
	Free   map[string]any               `json:"free,omitempty"`
	Rules  []gadgetRule                 `json:"rules,omitempty"`
	Rule   gadgetRule                   `json:"rule"`
	Table  map[string]gadgetRule        `json:"table,omitempty"`
	Open   gadgetRule                   `json:"open"`
	Tree   *gadgetTree                  `json:"tree,omitempty"`
	Modes  []gadgetRule                 `json:"modes,omitempty"`
	Slots  []gadgetRule                 `json:"slots,omitempty"`
	Share  gadgetShare                  `json:"share"`
	Loose  []string                     `json:"loose,omitempty"`  // is a text by the schema
	Vague  map[string]string            `json:"vague,omitempty"`  // as well
	Joined string                       `json:"joined,omitempty"` // is a list of parts
	Names  []string                     `json:"names,omitempty"`  // as well
}

type gadgetSize struct {
	Depth int32 `json:"depth,omitempty"`
}

type gadgetPart struct {
	Name string       `json:"name"`
	Tags []string     `json:"tags,omitempty"`
	Next *gadgetRule  `json:"next,omitempty"`
	Made *metav1.Time `json:"made,omitempty"`
}

// gadgetRule has no field newer.
type gadgetRule struct {
	Key   string `json:"key,omitempty"`
	Value int64  `json:"value,omitempty"`
}

type gadgetShare struct {
	Of resource.Quantity `json:"of"`
}

type gadgetTree struct {
	Name  string       `json:"name,omitempty"`
	Below []gadgetTree `json:"below,omitempty"`
}

func (g *gadget) DeepCopyObject() runtime.Object { return g }

// gadgetModels are those of a server that is newer: rules have a field newer, the spec
// has one, and so has the metadata.
const gadgetModels = `
Gadget:
  type: object
  x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Gadget}]
  properties:
    apiVersion: {type: string}
    kind: {type: string}
    metadata:
      type: object
      properties:
        name: {type: string}
        namespace: {type: string}
        uid: {type: string}
        resourceVersion: {type: string}
        labels: {type: object, additionalProperties: {type: string}}
        finalizers: {type: array, x-kubernetes-list-type: set, items: {type: string}}
        newer: {type: string}
    spec:
      type: object
      properties:
        newer: {type: string}
        depth: {type: integer}
        name: {type: string}
        port: {x-kubernetes-int-or-string: true}
        size: {x-kubernetes-int-or-string: true}
        wait: {type: string}
        limits: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
        parts:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [name]
          items:
            type: object
            properties:
              name: {type: string}
              newer: {type: string}
              tags: {type: array, items: {type: string}}
              made: {type: string}
              next: {$ref: "#/definitions/Rule"}
        labels: {type: object, additionalProperties: {type: string}}
        pick: {type: object, additionalProperties: {type: object, additionalProperties: {type: string}}}
        blob: {type: string}
        any: {type: object, x-kubernetes-preserve-unknown-fields: true}
        free: {type: object, x-kubernetes-preserve-unknown-fields: true}
        rules: {type: array, items: {$ref: "#/definitions/Rule"}}
        rule: {$ref: "#/definitions/Rule"}
        table: {type: object, additionalProperties: {$ref: "#/definitions/Rule"}}
        open:
          type: object
          x-kubernetes-map-type: atomic
          x-kubernetes-preserve-unknown-fields: true
          properties: {key: {type: string}}
        tree: {$ref: "#/definitions/Tree"}
        loose: {type: string}
        vague: {type: string}
        joined: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}
        names: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name], items: {type: object, properties: {name: {type: string}}}}
        share: {type: object, x-kubernetes-map-type: atomic, properties: {of: {x-kubernetes-int-or-string: true}}}
        modes:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [key]
          items:
            type: object
            properties: {key: {type: string, default: a}, value: {type: integer}}
        slots:
          type: array
          x-kubernetes-list-type: map
          x-kubernetes-list-map-keys: [key, newer]
          items:
            type: object
            properties: {key: {type: string}, newer: {type: string, default: a}, value: {type: integer}}
Rule:
  type: object
  x-kubernetes-map-type: atomic
  properties: {key: {type: string}, value: {type: integer}, newer: {type: string}}
Tree:
  type: object
  x-kubernetes-map-type: atomic
  properties: {name: {type: string}, below: {type: array, x-kubernetes-list-type: atomic, items: {$ref: "#/definitions/Tree"}}}
`

func gadgetSchemas(t testing.TB) managedfields.TypeConverter {
	t.Helper()
	return schemasIn(t, gadgetModels)
}

func schemasIn(t testing.TB, text string) managedfields.TypeConverter {
	t.Helper()
	var models map[string]*spec.Schema
	if err := yaml.Unmarshal([]byte(text), &models); err != nil {
		t.Fatal(err)
	}
	return schemasOf(t, models)
}

func schemasOf(t testing.TB, models map[string]*spec.Schema) managedfields.TypeConverter {
	t.Helper()
	schemas, err := managedfields.NewTypeConverter(models, false)
	if err != nil {
		t.Fatal(err)
	}
	return schemas
}

// serverModels are the server's own, such as those of apis/apps/v1.
func serverModels(t testing.TB, path string) map[string]*spec.Schema {
	t.Helper()
	paths, err := openapitest.NewEmbeddedFileClient().Paths()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := paths[path].Schema("application/json")
	if err != nil {
		t.Fatal(err)
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}
