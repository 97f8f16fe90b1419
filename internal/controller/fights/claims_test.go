package fights

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/api/v1alpha1"
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

// TestWatched holds what the Runtime watches, and marks, to the contract and to the rights of
// config/rbac.
func TestWatched(t *testing.T) {
	scheme := newScheme(t)
	for _, kind := range ourKinds(scheme) {
		if !slices.ContainsFunc(fieldmanagers.Contract(contention.FieldManager), func(c contract.Claim) bool { return c.Kind == kind.GroupKind() }) {
			t.Errorf("%s bears no condition", kind)
		}
	}
	for _, claim := range fieldmanagers.All() {
		if len(claim.Applies) == 0 {
			continue
		}
		versions := scheme.VersionsForGroupKind(claim.Kind)
		if len(versions) == 0 {
			t.Errorf("%s is not watched: the scheme does not know it", claim.Kind)
			continue
		}
		resource, _ := meta.UnsafeGuessKindToResource(versions[0].WithKind(claim.Kind.Kind))
		if name, ok := strings.CutSuffix(resource.Resource, "xs"); ok {
			resource.Resource = name + "xes" // as English has it
		}
		for _, verb := range []string{"list", "watch"} {
			wantRight(t, resource.GroupResource(), verb)
		}
		if claim.Manager == contention.FieldManager {
			wantRight(t, resource.GroupResource(), "get")
			wantRight(t, schema.GroupResource{Group: claim.Kind.Group, Resource: resource.Resource + "/status"}, "patch")
		}
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
