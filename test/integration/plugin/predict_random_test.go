package plugin

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// TestPredictRandomIntents has random programs write objects, and after every
// write predicts what random intents would meet. The API server's dry runs must say
// the same wherever the prediction has no doubt.
func TestPredictRandomIntents(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, model.Server(t))
	namespace := kit.NewNamespace(t, c)
	seed, count := kit.Seed(t), model.NewTally()
	t.Run("objects", func(t *testing.T) {
		for i, kind := range []model.Kind{model.SampleKind, model.SampleKind, model.ConfigMapKind, model.SampleKind} {
			t.Run(fmt.Sprintf("%d-%s", i, kind.Kind), func(t *testing.T) {
				t.Parallel()
				w := &predictedWorld{
					World: &model.World{Client: c, Model: model.NewModel(kind), Tally: count,
						Key: client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("predict-%d", i)}},
					Dice: model.NewDice(seed, uint64(i)),
				}
				w.Keep(t)
				for step := range 60 {
					what := w.ForeignStep(t, w.Dice)
					if w.Chance(0.03) {
						what = w.forget(t)
					}
					for range 2 {
						w.predict(t, step, what)
					}
				}
			})
		}
	})
	count.Report(t)
	if t.Failed() {
		return
	}
	count.AtLeast(t, 400, "intents")
	count.AtLeast(t, 50, "conflicts", "shared", "dropped and gone", "changes")
	count.AtLeast(t, 10, "dropped and kept") // from 23, by the seed
	sure, all := count.Of["intents without doubt"], count.Of["intents"]
	t.Logf("no doubt in %d %% of %d intents", 100*sure/all, all)
	if sure*2 < all {
		t.Errorf("no doubt in %d of %d intents only: this proves too little", sure, all)
	}
}

// predictedWorld is a world in which intents are predicted, and not applied.
type predictedWorld struct {
	*model.World
	model.Dice
}

// forget leaves the managed fields of the keeper only: everything else belongs to
// nobody then.
func (w *predictedWorld) forget(t *testing.T) string {
	t.Helper()
	live, err := w.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	live.SetManagedFields(slices.DeleteFunc(live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager != "keeper" }))
	if err := w.Update(t.Context(), live, client.FieldOwner("keeper")); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(w.Owned, func(by model.Identity, _ model.Fields) bool { return by.Name != "keeper" })
	w.Add("forgotten")
	return "all managed fields but the keeper's are deleted"
}

// next is a random intent, or a small change of what the manager applied.
func (w *predictedWorld) next(by model.Identity) model.Tree {
	owned := w.Live.Only(func(path string) bool { return w.Owned[by][path] })
	if len(owned) < 2 || w.Chance(0.4) {
		return w.Config(w.Kind.Shape, by.Subresource)
	}
	return w.Edited(owned, w.Kind.Shape, by.Subresource, nil)
}

func (w *predictedWorld) predict(t *testing.T, step int, what string) {
	t.Helper()
	by := model.ApplierOf(model.Pick(w.Dice, []string{"a", "b", "foreign", "editor"}), w.Subresource(w.Kind.Shape))
	intent := w.Envelope(w.next(by))
	live, err := w.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	try, err := newTrial(t.Context(), w.Client, live, intent, by.Name, by.Subresource)
	if apierrors.IsInvalid(err) {
		w.Add("refused")
		return
	}
	if err != nil {
		t.Fatalf("step %d: %v", step, err)
	}
	if diff := try.difference(); diff != "" {
		t.Fatalf("after step %d, %s\n%v applies %v\nto %v\npredicted:\n%v\n(-server +predicted):\n%s",
			step, what, by, intent.Object, live.Object, try.predicted, diff)
	}
	prediction(w.World.Tally, try)
}
