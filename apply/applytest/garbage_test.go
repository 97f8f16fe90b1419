package applytest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/applytest"
)

// newConfigMap creates a ConfigMap, with an owner if one is given.
func newConfigMap(t *testing.T, s *applytest.Server, namespace, name string, owner *corev1.ConfigMap) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if owner != nil {
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	}
	if err := s.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestCollectGarbage deletes an owner with each policy: its dependent goes with it, or stays without an owner reference.
func TestCollectGarbage(t *testing.T) {
	for policy, wantDependent := range map[metav1.DeletionPropagation]bool{
		metav1.DeletePropagationBackground: false, metav1.DeletePropagationForeground: false, metav1.DeletePropagationOrphan: true,
	} {
		s := applytest.NewServer(t)
		owner := newConfigMap(t, s, "default", "owner", nil)
		dependent := newConfigMap(t, s, "default", "dependent", owner)
		if err := s.Delete(t.Context(), owner, client.PropagationPolicy(policy)); err != nil {
			t.Fatal(err)
		}

		if err := s.CollectGarbage(t.Context()); err != nil {
			t.Fatal(err)
		}

		if err := s.Get(t.Context(), client.ObjectKeyFromObject(owner), owner); !apierrors.IsNotFound(err) {
			t.Errorf("%s: the owner: %v, want not found", policy, err)
		}
		err := s.Get(t.Context(), client.ObjectKeyFromObject(dependent), dependent)
		if wantDependent && (err != nil || len(dependent.OwnerReferences) > 0) || !wantDependent && !apierrors.IsNotFound(err) {
			t.Errorf("%s: the dependent: %v, owners %v; want that it exists without owners: %v", policy, err, dependent.OwnerReferences, wantDependent)
		}
	}
}

// TestNamespaceTerminates: a deleted namespace refuses new objects, and CollectGarbage deletes its content and the namespace.
func TestNamespaceTerminates(t *testing.T) {
	s := applytest.NewServer(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if err := s.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		newConfigMap(t, s, "shop", name, nil)
	}
	if err := s.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	late := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "late"}}
	if err := s.Create(t.Context(), late); !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		t.Errorf("creating an object in a terminating namespace: %v", err)
	}

	if err := s.CollectGarbage(t.Context()); err != nil {
		t.Fatal(err)
	}

	left := &corev1.ConfigMapList{}
	if err := s.List(t.Context(), left, client.InNamespace("shop")); err != nil || len(left.Items) > 0 {
		t.Errorf("%d objects are left, %v", len(left.Items), err)
	}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace: %v, want not found", err)
	}
	def := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := s.Delete(t.Context(), def); !apierrors.IsForbidden(err) {
		t.Errorf("deleting the namespace default: %v, want forbidden", err)
	}
}
