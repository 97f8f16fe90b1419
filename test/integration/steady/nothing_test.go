package steady

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestSteadyOwnsNothing: an intent that names the object and sets no field is sent once. The API server keeps no
// entry for such an intent, and a cache may drop entries. So only the response proves the intent, for one version of
// the object.
func TestSteadyOwnsNothing(t *testing.T) {
	t.Parallel()
	s := newBuiltinStage(t, kindOf[corev1.ConfigMap](corev1.SchemeGroupVersion))
	s.first("")
	s.costs("second", 0, "")
	s.other(`{"data":{"a":"b"}}`)
	s.costs("after another writer", 1, "")
	s.costs("after the no-op", 0, "")
	s.costs("a field", 1, "data: {ours: x}")
	s.costs("the field", 0, "data: {ours: x}")
	s.costs("given up", 1, "")
	s.costs("is gone", 0, "")
	live := &corev1.ConfigMap{}
	if err := s.client.Get(t.Context(), s.name, live); err != nil || len(live.Data) != 1 {
		t.Errorf("%v, %v; want the field gone", live.Data, err)
	}
}
