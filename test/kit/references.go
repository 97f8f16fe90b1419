package kit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// RefOf returns a reference to an object, given its apiVersion and kind.
func RefOf(apiVersion, kind, namespace, name string) apply.ObjectRef {
	return RefTo(schema.FromAPIVersionAndKind(apiVersion, kind), namespace, name)
}

// MustApply applies intents, and fails the test on an error.
func MustApply(t *testing.T, applier *apply.Applier, intents ...apply.Intent) {
	t.Helper()
	for _, intent := range intents {
		if _, err := applier.Apply(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
	}
}

// RefTo returns a reference to an object of the given kind.
func RefTo(kind schema.GroupVersionKind, namespace, name string) apply.ObjectRef {
	return apply.ObjectRef{GroupVersionKind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// DeploymentRef returns a reference to a Deployment.
func DeploymentRef(namespace, name string) apply.ObjectRef {
	return RefTo(appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, name)
}

// LiveAt reads an object live.
func LiveAt(t testing.TB, c client.Client, ref apply.ObjectRef) *unstructured.Unstructured {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(ref.GroupVersionKind)
	if err := c.Get(t.Context(), ref.NamespacedName, live); err != nil {
		t.Fatal(err)
	}
	return live
}
