package apply

import (
	"encoding/json"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"coapply.dev/test/kit"
)

// gadget is a custom resource whose Go type says every value in its own way, and lacks
// the fields named future: those of a server that is newer. V is which version it is.
type gadget[V any] struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   gadgetSpec   `json:"spec"`
	Status gadgetStatus `json:"status,omitzero"`
}

type (
	gadgetV1 struct{}
	gadgetV2 struct{}
)

type gadgetSpec struct {
	Replicas  int32                        `json:"replicas,omitempty"`
	Weight    int32                        `json:"weight"` // zero is written
	Notes     []string                     `json:"notes"`  // null is written
	Amounts   map[string]resource.Quantity `json:"amounts,omitempty"`
	Limit     *resource.Quantity           `json:"limit,omitempty"`
	Timeout   *metav1.Duration             `json:"timeout,omitempty"`
	Since     *metav1.Time                 `json:"since,omitempty"`
	Port      *intstr.IntOrString          `json:"port,omitempty"`
	Inner     gadgetInner                  `json:"inner"`
	Zeroable  gadgetInner                  `json:"zeroable,omitzero"`
	Pointed   *gadgetInner                 `json:"pointed,omitempty"`
	Template  runtime.RawExtension         `json:"template,omitzero"`
	Parts     []gadgetPart                 `json:"parts,omitempty"` // a map by name
	Endpoints []gadgetEndpoint             `json:"endpoints,omitempty"`
	Steps     []gadgetPart                 `json:"steps,omitempty"` // atomic
	Tags      []string                     `json:"tags,omitempty"`  // a set
}

type gadgetInner struct {
	Mode string            `json:"mode,omitempty"`
	Size resource.Quantity `json:"size,omitzero"`
	Flag bool              `json:"flag"`
}

type gadgetPart struct {
	Name string            `json:"name"`
	Size resource.Quantity `json:"size"`
	On   bool              `json:"on"`
	Wait metav1.Duration   `json:"wait,omitzero"`
}

type gadgetEndpoint struct {
	Port     int32             `json:"port"`
	Protocol string            `json:"protocol"`
	Rate     resource.Quantity `json:"rate,omitzero"`
	Comment  string            `json:"comment,omitempty"`
}

type gadgetStatus struct {
	Phase      string                       `json:"phase,omitempty"`
	Used       map[string]resource.Quantity `json:"used,omitempty"`
	Conditions []metav1.Condition           `json:"conditions,omitempty"`
	Seen       *metav1.Time                 `json:"seen,omitempty"`
}

func (g *gadget[V]) DeepCopyObject() runtime.Object {
	raw, err := json.Marshal(g)
	if err != nil {
		panic(err)
	}
	copied := &gadget[V]{}
	if err := utiljson.Unmarshal(raw, copied); err != nil {
		panic(err)
	}
	copied.ManagedFields = g.ManagedFields
	return copied
}

var gadgetGroup = schema.GroupVersion{Group: "narrow.coapply.dev", Version: "v1"}

// gadgetSchema is the same in both versions.
const gadgetSchema = `
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer}
      weight: {type: integer}
      notes: {type: array, items: {type: string}}
      amounts: {type: object, additionalProperties: {anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}}
      limit: {x-kubernetes-int-or-string: true}
      timeout: {type: string}
      since: {type: string, format: date-time}
      port: {x-kubernetes-int-or-string: true}
      future: {type: string}
      inner: &inner
        type: object
        properties:
          mode: {type: string}
          size: {x-kubernetes-int-or-string: true}
          flag: {type: boolean}
          future: {type: string}
      zeroable: *inner
      pointed: *inner
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      anything: {type: object, x-kubernetes-preserve-unknown-fields: true}
      parts:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: &part
          type: object
          required: [name]
          properties:
            name: {type: string}
            size: {x-kubernetes-int-or-string: true}
            "on": {type: boolean}
            wait: {type: string}
            future: {type: string}
      endpoints:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        items:
          type: object
          required: [port, protocol]
          properties:
            port: {type: integer}
            protocol: {type: string}
            rate: {x-kubernetes-int-or-string: true}
            comment: {type: string}
            future: {type: string}
      steps: {type: array, x-kubernetes-list-type: atomic, items: *part}
      tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
  status:
    type: object
    properties:
      phase: {type: string}
      used: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
      seen: {type: string, format: date-time}
      future: {type: string}
      conditions:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [type]
        items:
          type: object
          required: [type, status, reason, message, lastTransitionTime]
          properties:
            type: {type: string}
            status: {type: string}
            reason: {type: string}
            message: {type: string}
            lastTransitionTime: {type: string, format: date-time}
            observedGeneration: {type: integer}
            future: {type: string}
`

var installGadgets = kit.OncePerServer(func(s *rest.Config) error {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + gadgetGroup.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gadgetGroup.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
		},
	}
	for i, version := range []string{"v1", "v2"} {
		validation := &apiextensionsv1.JSONSchemaProps{}
		if err := yaml.Unmarshal([]byte(gadgetSchema), validation); err != nil {
			return fmt.Errorf("the schema: %w", err)
		}
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: version, Served: true, Storage: i == 0,
			Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: validation},
		})
	}
	_, err := kit.InstallCRDs(s, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	return err
})

// gadgets gives a client that knows the Go types of both versions.
func gadgets(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	installGadgets(t)
	known := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(known); err != nil {
		t.Fatal(err)
	}
	for version, object := range map[string]runtime.Object{"v1": &gadget[gadgetV1]{}, "v2": &gadget[gadgetV2]{}} {
		at := schema.GroupVersion{Group: gadgetGroup.Group, Version: version}
		known.AddKnownTypeWithName(at.WithKind("Gadget"), object)
		metav1.AddToGroupVersion(known, at)
	}
	c, err := client.New(config, client.Options{Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
