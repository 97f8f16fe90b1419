package steady

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit/model"
)

// bundle is the Go type of a custom resource as kubebuilder writes it. It reads a time and a
// quantity in one form, whatever form the API server stores.
type bundle struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   bundleSpec   `json:"spec,omitzero"`
	Status bundleStatus `json:"status,omitzero"`
}

type bundleSpec struct {
	Title string             `json:"title,omitempty"`
	Size  *resource.Quantity `json:"size,omitempty"`
}

type bundleStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Synced     *metav1.Time       `json:"synced,omitempty"`
}

func (b *bundle) DeepCopyObject() runtime.Object { return copyByJSON(b, &bundle{}) }

// bundleConfig is the apply configuration of a bundle.
type bundleConfig struct {
	metav1ac.TypeMetaApplyConfiguration    `json:",inline"`
	*metav1ac.ObjectMetaApplyConfiguration `json:"metadata,omitempty"`

	Spec   *bundleSpec         `json:"spec,omitempty"`
	Status *bundleStatusConfig `json:"status,omitempty"`
}

type bundleStatusConfig struct {
	Conditions []metav1ac.ConditionApplyConfiguration `json:"conditions,omitempty"`
	Synced     *metav1.Time                           `json:"synced,omitempty"`
}

func (*bundleConfig) IsApplyConfiguration() {}

func newBundleConfig(name client.ObjectKey) *bundleConfig {
	config := &bundleConfig{ObjectMetaApplyConfiguration: &metav1ac.ObjectMetaApplyConfiguration{Name: &name.Name, Namespace: &name.Namespace}}
	config.WithAPIVersion(bundleKind.GroupVersion().String()).WithKind(bundleKind.Kind)
	return config
}

var bundleKind = schema.GroupVersionKind{Group: "bundles.coapply.dev", Version: "v1", Kind: "Bundle"}

// newBundleClient returns a client that reads bundles as their Go type, of a server that has the kind.
func newBundleClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	if err := installCRDs(config, []*apiextensionsv1.CustomResourceDefinition{model.CRD("bundles", bundleShape(), bundleKind)}); err != nil {
		t.Fatal(err)
	}
	if err := awaitForms(config, []steadyKind{{forms: []steadyForm{{GroupVersionKind: bundleKind}}}}); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(bundleKind, &bundle{})
	metav1.AddToGroupVersion(scheme, bundleKind.GroupVersion())
	return newClientOf(t, config, scheme)
}

// bundleShape is its schema.
func bundleShape() *model.Shape {
	text := func(schema map[string]any) *model.Shape { return &model.Shape{Samples: []any{""}, Schema: schema} }
	words, moment := text(map[string]any{"type": "string"}), text(map[string]any{"type": "string", "format": "date-time"})
	return model.ObjectOf(map[string]*model.Shape{
		"spec": model.ObjectOf(map[string]*model.Shape{"title": words, "size": text(map[string]any{"x-kubernetes-int-or-string": true})}),
		"status": model.ObjectOf(map[string]*model.Shape{
			"conditions": listOf(map[string]*model.Shape{"type": words, "status": words, "reason": words, "message": words, "lastTransitionTime": moment}, "type"),
			"synced":     moment,
		}),
	})
}
