package steady

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestSteadyStringData: the API server moves stringData into data, and the steady-state check compares the values
// there.
func TestSteadyStringData(t *testing.T) {
	t.Parallel()
	s := newBuiltinStage(t, kindOf[corev1.Secret](corev1.SchemeGroupVersion))
	intent := `stringData: {a: one, b: "", "c.d": "é\n"}`
	s.first(intent)
	s.costs("second", 0, intent)
	s.other(`{"data":{"other":"eA=="}}`)
	s.costs("after another writer", 0, intent)
	s.other(`{"data":{"a":"eA=="}}`)
	s.costs("another value", 1, intent)
	s.costs("taken back", 0, intent)
	s.costs("a key more", 1, intent+"\ndata: {more: eA==}")
	s.costs("the key", 0, intent+"\ndata: {more: eA==}")
	s.costs("a key less", 1, `stringData: {a: one}`)
	s.costs("without the key", 0, `stringData: {a: one}`)
	s.costs("empty", 1, `stringData: {}`)
	s.costs("empty again", 0, `stringData: {}`)
}
