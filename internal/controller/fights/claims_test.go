package fights

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners/contract"
	"coapply.dev/internal/controller/fieldmanagers"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// ourKinds are the kinds of the platform.
func ourKinds(scheme *runtime.Scheme) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for kind := range scheme.KnownTypes(v1alpha1.SchemeGroupVersion) {
		object, err := scheme.New(v1alpha1.SchemeGroupVersion.WithKind(kind))
		if _, ok := object.(client.Object); ok && err == nil {
			kinds = append(kinds, v1alpha1.SchemeGroupVersion.WithKind(kind))
		}
	}
	return kinds
}

func TestClaims(t *testing.T) {
	applytest.Owns(t, fieldmanagers.Contract(fieldmanagers.Fights), func(kind schema.GroupVersionKind) ([]apply.Intent, error) {
		subject := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: types.NamespacedName{Name: "x"}}
		config, err := status(subject, nil, condition([]contention.Trouble{{Reason: contention.ReasonLoop}}))
		return []apply.Intent{{Config: config, Subresource: "status"}}, err
	}, ourKinds(newScheme(t))...)
}

// TestWatched holds what is watched, and marked, to the rights of config/rbac.
func TestWatched(t *testing.T) {
	scheme := newScheme(t)
	kinds, err := watched(scheme, fieldmanagers.All())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range ourKinds(scheme) {
		if !slices.Contains(kinds, kind) {
			t.Errorf("%s is not watched", kind)
		}
	}
	if want := (schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}); !slices.Contains(kinds, want) {
		t.Errorf("%s is not among %v", want, kinds)
	}
	for _, kind := range kinds {
		resource, _ := meta.UnsafeGuessKindToResource(kind)
		if name, ok := strings.CutSuffix(resource.Resource, "xs"); ok {
			resource.Resource = name + "xes" // as English has it
		}
		for _, verb := range []string{"list", "watch"} {
			wantRight(t, resource.GroupResource(), verb)
		}
		if ofOurs(kind) {
			wantRight(t, resource.GroupResource(), "get")
			wantRight(t, schema.GroupResource{Group: kind.Group, Resource: resource.Resource + "/status"}, "patch")
		}
	}
	if _, err := watched(scheme, contract.Contract{{Manager: "m", Kind: schema.GroupKind{Group: "example.com", Kind: "Nothing"}, Applies: []string{".spec"}}}); err == nil {
		t.Error("a kind that nobody knows was accepted")
	}
}

func wantRight(t *testing.T, resource schema.GroupResource, verb string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(content, &role); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, resource.Group) && slices.Contains(r.Resources, resource.Resource) && slices.Contains(r.Verbs, verb)
	}) {
		t.Errorf("the manager may not %s %s: add it to rbac.go and make generate", verb, resource)
	}
}

func TestConditionIsStable(t *testing.T) {
	if c := condition(nil); c.Status != metav1.ConditionFalse || c.Reason != "Calm" {
		t.Errorf("%+v", c)
	}
	many := make([]contention.Trouble, 100)
	for i := range many {
		many[i].Reason = contention.ReasonLoop
	}
	if c := condition(many); c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, "and 92 more") {
		t.Errorf("%+v", c)
	}
}
