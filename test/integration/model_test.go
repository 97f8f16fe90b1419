package integration

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestModel holds the model against the real API server, without package apply: a
// wrong model would prove nothing about apply.
func TestModel(t *testing.T) {
	c := newClient(t, modelServer(t))
	namespace := newNamespace(t, c)
	seed, count := modelSeed(t), newTally()
	t.Run("objects", func(t *testing.T) {
		for i, kind := range []modelKind{sampleKind, sampleKind, configMapKind} {
			t.Run(fmt.Sprintf("%d-%s", i, kind.Kind), func(t *testing.T) {
				t.Parallel()
				key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("model-%d", i)}
				w := &world{Client: c, model: newModel(kind), tally: count, key: key}
				w.keep(t)
				d := newDice(seed, uint64(i))
				for step := range 200 {
					what := w.foreignStep(t, d)
					if t.Failed() {
						t.Fatalf("step %d: %s", step, what)
					}
					w.check(t, step, what)
				}
			})
		}
	})
	count.report(t)
	if !t.Failed() {
		count.atLeast(t, 50, "foreign apply: conflict", "foreign apply: landed", "foreign update")
	}
}
