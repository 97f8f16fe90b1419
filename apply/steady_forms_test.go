package apply

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// gadget is a custom resource.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
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
	} `json:"spec"`
}

type gadgetSize struct {
	Depth int32 `json:"depth,omitempty"`
}

type gadgetPart struct {
	Name string       `json:"name"`
	Tags []string     `json:"tags,omitempty"`
	Next *gadgetPart  `json:"next,omitempty"`
	Made *metav1.Time `json:"made,omitempty"`
}

func (g *gadget) DeepCopyObject() runtime.Object { return g }

func TestHidesForms(t *testing.T) {
	part := fieldpath.KeyByFields("name", "a")
	for name, c := range map[string]struct {
		path  []any
		hides bool
	}{
		"a text":                {[]any{"spec", "name"}, false},
		"a number, embedded":    {[]any{"spec", "depth"}, false},
		"a text or a number":    {[]any{"spec", "port"}, false},
		"a label":               {[]any{"metadata", "labels", "a"}, false},
		"a text of a map":       {[]any{"spec", "labels", "a"}, false},
		"a map as one":          {[]any{"spec", "pick"}, false},
		"a text of an item":     {[]any{"spec", "parts", part, "name"}, false},
		"texts of an item":      {[]any{"spec", "parts", part, "tags"}, false},
		"a quantity":            {[]any{"spec", "size"}, true},
		"a duration":            {[]any{"spec", "wait"}, true},
		"a quantity of a map":   {[]any{"spec", "limits", "cpu"}, true},
		"quantities as one":     {[]any{"spec", "limits"}, true},
		"a time of an item":     {[]any{"spec", "parts", part, "made"}, true},
		"items as one":          {[]any{"spec", "parts"}, true},
		"bytes":                 {[]any{"spec", "blob"}, true},
		"anything":              {[]any{"spec", "any", "a"}, true},
		"what it does not know": {[]any{"spec", "unknown"}, true},
		"below a text":          {[]any{"spec", "name", "a"}, true},
	} {
		set := fieldpath.NewSet(fieldpath.MakePathOrDie(c.path...))
		if got := hidesForms(&gadget{}, set); got != c.hides {
			t.Errorf("%s: %v", name, got)
		}
		for _, exact := range []client.Object{&unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}, &appsv1.Deployment{}} {
			if hidesForms(exact, set) {
				t.Errorf("%s of a %T", name, exact)
			}
		}
	}
}
