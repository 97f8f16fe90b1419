package kit

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// ForgeDeepEntry adds a managed fields entry with 1,500 levels to an object, under the field manager "forger". The API
// server accepts such entries.
func ForgeDeepEntry(t *testing.T, c client.Client, ref apply.ObjectRef) {
	t.Helper()
	const levels = 1500
	deep := `{"f:metadata":{"f:annotations":{` + strings.Repeat(`"f:x":{`, levels) + strings.Repeat("}", levels) + `}}}`
	before := LiveAt(t, c, ref)
	after := before.DeepCopy()
	after.SetManagedFields(append(after.GetManagedFields(), metav1.ManagedFieldsEntry{
		Manager: "forger", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: ref.GroupVersion().String(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(deep),
	}))
	if err := c.Patch(t.Context(), after, client.MergeFrom(before), client.FieldOwner("forger")); err != nil {
		t.Fatal(err)
	}
	live := LiveAt(t, c, ref)
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == "forger" && len(entry.FieldsV1.GetRawBytes()) > levels {
			return
		}
	}
	t.Fatalf("the API server did not store the forged entry: %v", live.GetManagedFields())
}

// LiveReplicas returns the replicas of a Deployment.
func LiveReplicas(t *testing.T, c client.Client, namespace, name string) int64 {
	t.Helper()
	spec, _ := LiveAt(t, c, DeploymentRef(namespace, name)).Object["spec"].(map[string]any)
	n, _ := spec["replicas"].(int64)
	return n
}
