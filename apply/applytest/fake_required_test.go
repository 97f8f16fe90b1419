package applytest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
)

// page is a kind with a field that its Go type always has: no omitempty.
type page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec struct {
		Text string `json:"text"`
	} `json:"spec"`
}

func (p *page) DeepCopyObject() runtime.Object {
	copied := *p
	p.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// sparing is the same kind with omitempty.
type sparing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec struct {
		Text string `json:"text,omitempty"`
	} `json:"spec,omitzero"`
}

func (s *sparing) DeepCopyObject() runtime.Object {
	copied := *s
	s.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// TestFakeClientClaimsRequiredFields: of a kind in its scheme the fake client applies what the
// Go type makes of an apply configuration, zero values included. So an apply of a label alone,
// as that of a parent's set with Prune, claims each field without omitempty, and conflicts.
func TestFakeClientClaimsRequiredFields(t *testing.T) {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	newPage := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Page",
			"metadata": map[string]any{"namespace": "shop", "name": "a", "uid": "uid-1"}}}
	}
	for _, test := range []struct {
		reason    string
		kind      runtime.Object // nil: not in the scheme
		conflicts bool
	}{
		{"a field that the Go type always has", &page{}, true},
		{"the way out: omitempty", &sparing{}, false},
		{"a kind that is not in the scheme", nil, false},
	} {
		scheme := runtime.NewScheme()
		metav1.AddToGroupVersion(scheme, version)
		if test.kind != nil {
			scheme.AddKnownTypeWithName(version.WithKind("Page"), test.kind)
		}
		c := fake.NewClientBuilder().WithScheme(scheme).WithReturnManagedFields().Build()
		object, label := newPage(), newPage()
		object.Object["spec"] = map[string]any{"text": "x"}
		label.SetLabels(map[string]string{"l": "1"})
		if err := c.Create(t.Context(), object, client.FieldOwner("user")); err != nil {
			t.Fatal(err)
		}
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(label), owner)
		if apply.IsOwnershipConflict(err) != test.conflicts || !test.conflicts && err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}
