package apply

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

var modelSteps = flag.Int("model.steps", 600, "random steps of TestRandomIntents, over all of its objects")

// TestRandomIntents takes random intents under random policies through package
// apply, between plain writes, foreign applies, releases and deletions, and holds
// values, owners and outcomes after every step against the model, which knows of no
// memory: what an applier remembers must never change what stands.
func TestRandomIntents(t *testing.T) {
	c := kit.NewClient(t, model.Server(t))
	namespace := kit.NewNamespace(t, c)
	seed, count := kit.Seed(t), model.NewTally()
	kinds := []model.Kind{model.SampleKind, model.SampleKind, model.ConfigMapKind, model.SampleKind, model.SampleKind}
	t.Run("objects", func(t *testing.T) {
		for i, kind := range kinds {
			t.Run(fmt.Sprintf("%d-%s", i, kind.Kind), func(t *testing.T) {
				t.Parallel()
				key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("random-%d", i)}
				w := &randomWorld{World: &model.World{Client: c, Model: model.NewModel(kind), Tally: count, Key: key}, Dice: model.NewDice(seed, uint64(i))}
				w.hire(t, i)
				w.run(t, *modelSteps/len(kinds))
			})
		}
	})
	count.Report(t)
	if t.Failed() || *modelSteps < 600 {
		return
	}
	count.AtLeast(t, 400, "applies")
	count.AtLeast(t, 20, "decided Reject", "decided Force", "decided Relinquish", "decided Share",
		"remembered", "Configured", "Unchanged", "steady")
	count.AtLeast(t, 8, "steady, and gives way", "error Conflict")
	count.AtLeast(t, 2, "Created", "Absent", "released")
	// The server keeps the resourceVersion of nearly every write that changes nothing.
	if bumped, steady := count.Of["steady, and Configured"], count.Of["steady"]; bumped*10 > steady {
		t.Errorf("%d of %d applies that changed nothing were not Unchanged", bumped, steady)
	}
}

// randomWorld is a world with appliers that stay for the whole test, so that what
// they remember matters.
type randomWorld struct {
	*model.World
	model.Dice

	appliers []*modelApplier
	latest   *modelIntent // the last write of all, if it was an intent that landed
}

type modelApplier struct {
	*apply.Applier

	policy model.Policy
	last   map[string]*modelIntent // by subresource
}

type modelIntent struct {
	by          *modelApplier
	subresource string
	config      model.Tree
	landed      model.Tree // what of it landed when it did last
}

// hire makes the appliers. Each decision is what some of them do otherwise.
func (w *randomWorld) hire(t *testing.T, first int) {
	t.Helper()
	owners := []string{"a", "b", "c", "editor", "operator", "foreign"}
	for i, name := range []string{"a", "b", "c"} {
		policy := w.Policy(w.Kind.Shape, owners)
		policy.Otherwise = model.EveryDecision[(first+i)%len(model.EveryDecision)]
		t.Logf("%s: %v", name, policy)
		applier := kit.NewApplier(t, w.Client, name, policy.Policy())
		w.appliers = append(w.appliers, &modelApplier{Applier: applier, policy: policy, last: map[string]*modelIntent{}})
	}
}

func (w *randomWorld) run(t *testing.T, steps int) {
	t.Helper()
	w.Keep(t)
	for step := range steps {
		what := w.step(t)
		if t.Failed() {
			t.Fatalf("step %d: %s", step, what)
		}
		w.Check(t, step, what)
	}
}

func (w *randomWorld) step(t *testing.T) string {
	t.Helper()
	switch n := w.IntN(100); {
	case n < 15 && w.latest != nil:
		return w.applyIntent(t, w.latest, w.Chance(0.2))
	case n < 70:
		return w.applyIntent(t, w.nextIntent(model.Pick(w.Dice, w.appliers), w.Subresource(w.Kind.Shape)), w.Chance(0.2))
	case n < 73:
		return w.release(t, model.Pick(w.Dice, w.appliers))
	case n < 98:
		w.latest = nil
		return w.ForeignStep(t, w.Dice)
	}
	return w.recreate(t)
}

// nextIntent is often the one of before, as of a reconciler that has nothing new.
func (w *randomWorld) nextIntent(by *modelApplier, subresource string) *modelIntent {
	last, some := by.last[subresource]
	switch n := w.IntN(10); {
	case some && n < 5:
		return last
	case some && n < 8:
		config := w.Edited(last.config, w.Kind.Shape, subresource, nil)
		if config.DropEmpty(); len(config) > 1 {
			return &modelIntent{by: by, subresource: subresource, config: config}
		}
	}
	return &modelIntent{by: by, subresource: subresource, config: w.Config(w.Kind.Shape, subresource)}
}

func (w *randomWorld) intent(i *modelIntent, mustExist bool) apply.Intent {
	config := client.ApplyConfigurationFromUnstructured(w.Envelope(i.config))
	return apply.Intent{Config: config, Subresource: i.subresource, MustExist: mustExist}
}

// applyIntent is one Apply, with everything that can be told of it.
func (w *randomWorld) applyIntent(t *testing.T, i *modelIntent, mustExist bool) string {
	t.Helper()
	by := model.ApplierOf(i.by.FieldManager(), i.subresource)
	what := fmt.Sprintf("%v under %v applies %v", by, i.by.policy, i.config.Values())
	values, owners := w.Live.Values(), w.Owners()
	want := w.Settle(by, i.config, i.by.policy)
	changes := !cmp.Equal(values, w.Live.Values()) || !cmp.Equal(owners, w.Owners())

	outcome, err := i.by.Apply(t.Context(), w.intent(i, mustExist))
	w.Outcome(outcome, err)
	if !errors.Is(err, want.Class) {
		t.Errorf("got %v, want %v", err, want)
	}
	if diff := cmp.Diff(want.Clashes, conflictsOf(outcome)); diff != "" {
		t.Errorf("conflicts (-model +outcome):\n%s", diff)
	}
	if err == nil && changes && outcome.Action == apply.Unchanged {
		t.Error("Unchanged, and the model changed")
	}
	if err == nil && w.latest == i {
		w.steady(t, want, outcome, mustExist, changes)
	}
	if i.by.last[i.subresource], w.latest = i, i; err != nil {
		w.latest = nil
	}
	if errors.Is(want.Class, apply.ErrConflict) {
		w.rejected(t, by, i)
	} else {
		i.landed = want.Settled
	}
	return what
}

// rejected allows for the one thing that may land of a rejected intent: what had
// landed of it before, which is sent before the new owner can be known.
func (w *randomWorld) rejected(t *testing.T, by model.Identity, i *modelIntent) {
	t.Helper()
	diff, err := w.Differences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff == "" || i.landed == nil || len(w.Clashes(by, i.landed)) > 0 {
		return
	}
	before := w.Model
	w.Model = before.Clone()
	w.Model.Land(by, i.landed)
	if again, err := w.Differences(t.Context()); err != nil || again != "" {
		w.Model = before
		return
	}
	w.Add("rejected after what had landed before")
}

// steady holds for an intent that was the last to land and is applied again: there is nothing to
// change. One apply tells, after a read if the intent has to exist or gave way before. An atomic
// list or map that gives way, or a field in a list item, takes one more, as this applier has no schema.
func (w *randomWorld) steady(t *testing.T, want model.Verdict, outcome apply.Outcome, mustExist, changes bool) {
	t.Helper()
	// A container may be gone from the object and still owned.
	if slices.ContainsFunc(want.Clashes, func(c model.Clash) bool { return c.Theirs == nil }) {
		return
	}
	w.Add("steady")
	if len(want.Clashes) > 0 {
		w.Add("steady, and gives way")
	}
	requests := 1
	if mustExist || len(want.Clashes) > 0 {
		requests++
	}
	hasParts := func(c model.Clash) bool {
		_, isList := c.Ours.([]any)
		_, isMap := c.Ours.(map[string]any)
		return isList || isMap || strings.Contains(c.Path, "=")
	}
	if slices.ContainsFunc(want.Clashes, hasParts) {
		requests = max(outcome.Requests, requests)
	}
	if changes || outcome.Requests != requests {
		t.Errorf("the same intent again: %d requests, want %d; changes: %v", outcome.Requests, requests, changes)
	}
	if outcome.Action != apply.Unchanged {
		w.Add("steady, and " + string(outcome.Action))
	}
}

func conflictsOf(outcome apply.Outcome) []model.Clash {
	var found []model.Clash
	for _, c := range outcome.Conflicts {
		owner := model.Identity{Name: c.Manager.Name, Operation: string(c.Manager.Operation), Subresource: c.Manager.Subresource}
		found = append(found, model.Clash{Path: c.Path.String(), Owner: owner, Ours: c.Ours, Theirs: c.Theirs, Decision: c.Decision})
	}
	slices.SortFunc(found, model.CompareClashes)
	return found
}

// release gives up all that one manager applied, through whatever subresource.
func (w *randomWorld) release(t *testing.T, a *modelApplier) string {
	t.Helper()
	what := a.FieldManager() + " releases"
	nothing, want := model.Flatten(w.Kind.Shape, nil), apply.Unchanged
	entries := []model.Identity{model.ApplierOf(a.FieldManager(), ""), model.ApplierOf(a.FieldManager(), "status")}
	if slices.ContainsFunc(entries, func(by model.Identity) bool { return w.Spoils(by, nothing) }) {
		return what + ", which would be invalid"
	}
	for _, by := range entries {
		if len(w.Owned[by]) > 0 {
			want = apply.Configured
			w.Add("released")
		}
		w.Model.Land(by, nothing)
	}
	w.latest = nil
	outcome, err := ownership.Release(t.Context(), a.Applier, apply.ObjectRef{GroupVersionKind: w.Kind.GroupVersionKind, NamespacedName: w.Key})
	if err != nil || outcome.Action != want {
		t.Errorf("got %s %v, want %s", outcome.Action, err, want)
	}
	return what
}

// recreate deletes the object: an applier that must find it waits, and one that
// need not creates it from its whole intent, whatever it remembers.
func (w *randomWorld) recreate(t *testing.T) string {
	t.Helper()
	if err := w.Delete(t.Context(), w.Envelope(model.Flatten(w.Kind.Shape, nil))); err != nil {
		t.Fatal(err)
	}
	i := w.nextIntent(model.Pick(w.Dice, w.appliers), "")
	outcome, err := i.by.Apply(t.Context(), w.intent(i, true))
	w.Outcome(outcome, err)
	if err != nil || outcome.Action != apply.Absent {
		t.Errorf("deleted: %s %v, want Absent", outcome.Action, err)
	}
	w.Model, w.latest = model.NewModel(w.Kind), nil
	what := w.applyIntent(t, i, false)
	w.Keep(t)
	w.latest = nil
	return "after deletion " + what
}
