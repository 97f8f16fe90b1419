package apply

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// TestModel holds the model against the real API server, without package apply: a
// wrong model would prove nothing about apply.
func TestModel(t *testing.T) {
	c := kit.NewClient(t, model.Server(t))
	namespace := kit.NewNamespace(t, c)
	seed, count := kit.Seed(t), model.NewTally()
	t.Run("objects", func(t *testing.T) {
		for i, kind := range []model.Kind{model.SampleKind, model.SampleKind, model.ConfigMapKind} {
			t.Run(fmt.Sprintf("%d-%s", i, kind.Kind), func(t *testing.T) {
				t.Parallel()
				key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("model-%d", i)}
				w := &model.World{Client: c, Model: model.NewModel(kind), Tally: count, Key: key}
				w.Keep(t)
				d := model.NewDice(seed, uint64(i))
				for step := range 200 {
					what := w.ForeignStep(t, d)
					if t.Failed() {
						t.Fatalf("step %d: %s", step, what)
					}
					w.Check(t, step, what)
				}
			})
		}
	})
	count.Report(t)
	if !t.Failed() {
		count.AtLeast(t, 50, "foreign apply: conflict", "foreign apply: landed", "foreign update")
	}
}
