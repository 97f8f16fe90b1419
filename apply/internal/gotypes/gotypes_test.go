package gotypes

import (
	"net"
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// gadget is a custom resource's.
type gadget struct{}

// TestServersOwn: neither the package of a type nor the group of a kind is enough.
func TestServersOwn(t *testing.T) {
	deployment, crd := reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
	for _, c := range []struct {
		group  string
		goType reflect.Type
		want   bool
	}{
		{"apps", deployment, true},
		{"apiextensions.k8s.io", crd, true},
		{"autoscaling.k8s.io", deployment, false}, // VerticalPodAutoscaler's, whose type is in k8s.io/autoscaler
		{"snapshot.storage.k8s.io", deployment, false},
		{"apps", reflect.TypeFor[gadget](), false},
		{"apps", reflect.TypeFor[metav1.PartialObjectMetadata](), false},
	} {
		if got := IsServersOwn(schema.GroupVersionKind{Group: c.group, Version: "v1", Kind: "X"}, c.goType); got != c.want {
			t.Errorf("%v of %q: %v", c.goType, c.group, got)
		}
	}
}

func TestHasOwnForm(t *testing.T) {
	for goType, want := range map[reflect.Type]bool{
		reflect.TypeFor[resource.Quantity](): true,
		reflect.TypeFor[net.IP]():            true, // as a text only
		reflect.TypeFor[appsv1.Deployment](): false,
		reflect.TypeFor[map[string]string](): false,
	} {
		if got := HasOwnForm(goType); got != want {
			t.Errorf("%v: %t", goType, got)
		}
	}
}

// Word is no struct.
type Word string

// composed has the fields of TypeMeta as its own, and of nothing else.
type composed struct {
	Word
	*metav1.TypeMeta
	Status            metav1.Status // no JSON name, and not embedded
	metav1.ObjectMeta `json:"metadata"`
}

func TestFieldType(t *testing.T) {
	for name, want := range map[string]reflect.Type{
		"kind": reflect.TypeFor[string](), "metadata": reflect.TypeFor[metav1.ObjectMeta](), "reason": nil, "labels": nil,
	} {
		if got := FieldType(reflect.TypeFor[composed](), name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// TestServerGroups: the list is that of client-go, without what is no API of the server's.
func TestServerGroups(t *testing.T) {
	notServed := []string{"extensions", "imagepolicy.k8s.io", "__internal"}
	var groups []string
	for kind := range scheme.Scheme.AllKnownTypes() {
		if !slices.Contains(groups, kind.Group) && !slices.Contains(notServed, kind.Group) {
			groups = append(groups, kind.Group)
		}
	}
	groups = append(groups, "apiextensions.k8s.io", "apiregistration.k8s.io")
	slices.Sort(groups)
	if listed := slices.Sorted(slices.Values(serverGroups)); !slices.Equal(groups, listed) {
		t.Errorf("client-go and the server have %q, listed are %q", groups, listed)
	}
}
