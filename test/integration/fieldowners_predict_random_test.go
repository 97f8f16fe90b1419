package integration

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPredictRandomIntents has random programs write objects, and after every
// write predicts what random intents would meet. The API server's dry runs must say
// the same wherever the prediction has no doubt.
func TestPredictRandomIntents(t *testing.T) {
	c := newClient(t, modelServer(t))
	namespace := newNamespace(t, c)
	seed, count := modelSeed(t), newTally()
	t.Run("objects", func(t *testing.T) {
		for i, kind := range []modelKind{sampleKind, sampleKind, configMapKind, sampleKind} {
			t.Run(fmt.Sprintf("%d-%s", i, kind.Kind), func(t *testing.T) {
				t.Parallel()
				w := &predictedWorld{
					world: &world{Client: c, model: newModel(kind), tally: count,
						key: client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("predict-%d", i)}},
					dice: newDice(seed, uint64(i)),
				}
				w.keep(t)
				for step := range 150 {
					what := w.foreignStep(t, w.dice)
					if w.chance(0.03) {
						what = w.forget(t)
					}
					for range 2 {
						w.predict(t, step, what)
					}
				}
			})
		}
	})
	count.report(t)
	if t.Failed() {
		return
	}
	count.atLeast(t, 1000, "intents")
	count.atLeast(t, 50, "conflicts", "shared", "dropped and gone", "dropped and kept", "changes")
	sure, all := count.of["intents without doubt"], count.of["intents"]
	t.Logf("no doubt in %d %% of %d intents", 100*sure/all, all)
	if sure*2 < all {
		t.Errorf("no doubt in %d of %d intents only: this proves too little", sure, all)
	}
}

// predictedWorld is a world in which intents are predicted, and not applied.
type predictedWorld struct {
	*world
	dice
}

// forget leaves the managed fields of the keeper only: everything else belongs to
// nobody then.
func (w *predictedWorld) forget(t *testing.T) string {
	t.Helper()
	live, err := w.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live.SetManagedFields(slices.DeleteFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager != "keeper" }))
	if err := w.Update(t.Context(), live, client.FieldOwner("keeper")); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(w.owned, func(by identity, _ fields) bool { return by.Name != "keeper" })
	w.add("forgotten")
	return "all managed fields but the keeper's are deleted"
}

// next is a random intent, or a small change of what the manager applied.
func (w *predictedWorld) next(by identity) tree {
	owned := w.live.only(func(path string) bool { return w.owned[by][path] })
	if len(owned) < 2 || w.chance(0.4) {
		return w.config(w.kind.shape, by.Subresource)
	}
	return w.edited(owned, w.kind.shape, by.Subresource, nil)
}

func (w *predictedWorld) predict(t *testing.T, step int, what string) {
	t.Helper()
	by := applierOf(pick(w.dice, []string{"a", "b", "foreign", "editor"}), w.subresource(w.kind.shape))
	intent := w.envelope(w.next(by))
	live, err := w.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	try, err := newTrial(t.Context(), w.Client, live, intent, by.Name, by.Subresource)
	if apierrors.IsInvalid(err) {
		w.add("refused")
		return
	}
	if err != nil {
		t.Fatalf("step %d: %v", step, err)
	}
	if diff := try.difference(); diff != "" {
		t.Fatalf("after step %d, %s\n%v applies %v\nto %v\npredicted:\n%v\n(-server +predicted):\n%s",
			step, what, by, intent.Object, live.Object, try.predicted, diff)
	}
	w.prediction(try)
}
