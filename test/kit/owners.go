package kit

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
)

// OwnersOf returns the owners of a field of a Deployment.
func OwnersOf(t *testing.T, c client.Client, namespace, name, path string) []string {
	t.Helper()
	var live appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &live); err != nil {
		t.Fatal(err)
	}
	ownership, err := fieldowners.Parse(live.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	return ownersIn(ownership, path)
}

func ownersIn(ownership fieldowners.Ownership, path string) (names []string) {
	for _, manager := range ownership.OwnersOf(fieldowners.MustParsePath(path)) {
		names = append(names, manager.String())
	}
	return names
}

// FieldsBy returns a line "PATH MANAGER/OPERATION[SUBRESOURCE] APIVERSION" for each field and owner, sorted.
func FieldsBy(t testing.TB, entries []metav1.ManagedFieldsEntry) (lines []string) {
	t.Helper()
	ownership, err := fieldowners.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ownership.Entries() {
		for _, path := range entry.Fields() {
			lines = append(lines, fmt.Sprintf("%s %s %s", path, entry.Manager, entry.APIVersion))
		}
	}
	slices.Sort(lines)
	return lines
}

// WithoutManagedFields returns the content of an object without its managed fields and its resourceVersion.
func WithoutManagedFields(object *unstructured.Unstructured) map[string]any {
	copied := object.DeepCopy()
	copied.SetManagedFields(nil)
	copied.SetResourceVersion("")
	return copied.Object
}
