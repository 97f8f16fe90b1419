package integration

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

var modelSteps = flag.Int("model.steps", 1500, "random steps of TestRandomIntents, over all of its objects")

// TestRandomIntents takes random intents under random policies through package
// apply, between plain writes, foreign applies, releases and deletions, and holds
// values, owners and outcomes after every step against the model, which knows of no
// memory: what an applier remembers must never change what stands.
func TestRandomIntents(t *testing.T) {
	c := newClient(t, modelServer(t))
	namespace := newNamespace(t, c)
	seed, count := modelSeed(t), newTally()
	kinds := []modelKind{sampleKind, sampleKind, configMapKind, sampleKind, sampleKind}
	t.Run("objects", func(t *testing.T) {
		for i, kind := range kinds {
			t.Run(fmt.Sprintf("%d-%s", i, kind.Kind), func(t *testing.T) {
				t.Parallel()
				key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("random-%d", i)}
				w := &randomWorld{world: &world{Client: c, model: newModel(kind), tally: count, key: key}, dice: newDice(seed, uint64(i))}
				w.hire(t, i)
				w.run(t, *modelSteps/len(kinds))
			})
		}
	})
	count.report(t)
	if t.Failed() || *modelSteps < 1500 {
		return
	}
	count.atLeast(t, 1000, "applies")
	count.atLeast(t, 50, "decided Reject", "decided Force", "decided Relinquish", "decided Share",
		"remembered", "Configured", "Unchanged", "steady")
	count.atLeast(t, 20, "steady by memory", "error Conflict")
	count.atLeast(t, 5, "Created", "Absent", "released")
	// The server keeps the resourceVersion of nearly every write that changes nothing.
	if bumped, steady := count.of["steady, and Configured"], count.of["steady"]; bumped*10 > steady {
		t.Errorf("%d of %d applies that changed nothing were not Unchanged", bumped, steady)
	}
}

// randomWorld is a world with appliers that stay for the whole test, so that what
// they remember matters.
type randomWorld struct {
	*world
	dice

	appliers []*modelApplier
	latest   *modelIntent // the last write of all, if it was an intent that landed
}

type modelApplier struct {
	*apply.Applier

	policy modelPolicy
	last   map[string]*modelIntent // by subresource
}

type modelIntent struct {
	by          *modelApplier
	subresource string
	config      tree
	landed      tree // what of it landed when it did last
}

// hire makes the appliers. Each decision is what some of them do otherwise.
func (w *randomWorld) hire(t *testing.T, first int) {
	t.Helper()
	owners := []string{"a", "b", "c", "editor", "operator", "foreign"}
	for i, name := range []string{"a", "b", "c"} {
		policy := w.policy(w.kind.shape, owners)
		policy.otherwise = everyDecision[(first+i)%len(everyDecision)]
		t.Logf("%s: %v", name, policy)
		applier := newApplier(t, w.Client, name, policy.policy())
		w.appliers = append(w.appliers, &modelApplier{Applier: applier, policy: policy, last: map[string]*modelIntent{}})
	}
}

func (w *randomWorld) run(t *testing.T, steps int) {
	t.Helper()
	w.keep(t)
	for step := range steps {
		what := w.step(t)
		if t.Failed() {
			t.Fatalf("step %d: %s", step, what)
		}
		w.check(t, step, what)
	}
}

func (w *randomWorld) step(t *testing.T) string {
	t.Helper()
	switch n := w.IntN(100); {
	case n < 15 && w.latest != nil:
		return w.applyIntent(t, w.latest, w.chance(0.2))
	case n < 70:
		return w.applyIntent(t, w.nextIntent(pick(w.dice, w.appliers), w.subresource(w.kind.shape)), w.chance(0.2))
	case n < 73:
		return w.release(t, pick(w.dice, w.appliers))
	case n < 98:
		w.latest = nil
		return w.foreignStep(t, w.dice)
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
		config := w.edited(last.config, w.kind.shape, subresource, nil)
		if config.dropEmpty(); len(config) > 1 {
			return &modelIntent{by: by, subresource: subresource, config: config}
		}
	}
	return &modelIntent{by: by, subresource: subresource, config: w.config(w.kind.shape, subresource)}
}

func (w *randomWorld) intent(i *modelIntent, mustExist bool) apply.Intent {
	config := client.ApplyConfigurationFromUnstructured(w.envelope(i.config))
	return apply.Intent{Config: config, Subresource: i.subresource, MustExist: mustExist}
}

// applyIntent is one Apply, with everything that can be told of it.
func (w *randomWorld) applyIntent(t *testing.T, i *modelIntent, mustExist bool) string {
	t.Helper()
	by := applierOf(i.by.FieldManager(), i.subresource)
	what := fmt.Sprintf("%v under %v applies %v", by, i.by.policy, i.config.values())
	values, owners := w.live.values(), w.owners()
	want := w.settle(by, i.config, i.by.policy)
	changes := !cmp.Equal(values, w.live.values()) || !cmp.Equal(owners, w.owners())

	outcome, err := i.by.Apply(t.Context(), w.intent(i, mustExist))
	w.outcome(outcome, err)
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
		i.landed = want.settled
	}
	return what
}

// rejected allows for the one thing that may land of a rejected intent: what had
// landed of it before, which is sent before the new owner can be known.
func (w *randomWorld) rejected(t *testing.T, by identity, i *modelIntent) {
	t.Helper()
	diff, err := w.differences(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff == "" || i.landed == nil || len(w.clashes(by, i.landed)) > 0 {
		return
	}
	before := w.model
	w.model = before.clone()
	w.model.apply(by, i.landed)
	if again, err := w.differences(t.Context()); err != nil || again != "" {
		w.model = before
		return
	}
	w.add("rejected after what had landed before")
}

// steady holds for an intent that was the last to land and is applied again: there
// is nothing to change, and one request tells, whatever gave way before.
func (w *randomWorld) steady(t *testing.T, want verdict, outcome apply.Outcome, mustExist, changes bool) {
	t.Helper()
	// A container that is gone from the object and still owned is not remembered.
	if slices.ContainsFunc(want.Clashes, func(c clash) bool { return c.Theirs == nil }) {
		return
	}
	w.add("steady")
	if len(want.Clashes) > 0 {
		w.add("steady by memory")
	}
	requests := 1
	if mustExist {
		requests++ // no cache to read the uid from
	}
	if changes || outcome.Requests != requests {
		t.Errorf("the same intent again: %d requests, want %d; changes: %v", outcome.Requests, requests, changes)
	}
	if outcome.Action != apply.Unchanged {
		w.add("steady, and " + string(outcome.Action))
	}
}

func conflictsOf(outcome apply.Outcome) []clash {
	var found []clash
	for _, c := range outcome.Conflicts {
		owner := identity{c.Manager.Name, string(c.Manager.Operation), c.Manager.Subresource}
		found = append(found, clash{Path: c.Path.String(), Owner: owner, Ours: c.Ours, Theirs: c.Theirs, Decision: c.Decision})
	}
	slices.SortFunc(found, compareClashes)
	return found
}

// release gives up all that one manager applied, through whatever subresource.
func (w *randomWorld) release(t *testing.T, a *modelApplier) string {
	t.Helper()
	what := a.FieldManager() + " releases"
	nothing, want := flatten(w.kind.shape, nil), apply.Unchanged
	entries := []identity{applierOf(a.FieldManager(), ""), applierOf(a.FieldManager(), "status")}
	if slices.ContainsFunc(entries, func(by identity) bool { return w.spoils(by, nothing) }) {
		return what + ", which would be invalid"
	}
	for _, by := range entries {
		if len(w.owned[by]) > 0 {
			want = apply.Configured
			w.add("released")
		}
		w.model.apply(by, nothing)
	}
	w.latest = nil
	outcome, err := a.Release(t.Context(), apply.ObjectRef{GroupVersionKind: w.kind.GroupVersionKind, NamespacedName: w.key})
	if err != nil || outcome.Action != want {
		t.Errorf("got %s %v, want %s", outcome.Action, err, want)
	}
	return what
}

// recreate deletes the object: an applier that must find it waits, and one that
// need not creates it from its whole intent, whatever it remembers.
func (w *randomWorld) recreate(t *testing.T) string {
	t.Helper()
	if err := w.Delete(t.Context(), w.envelope(flatten(w.kind.shape, nil))); err != nil {
		t.Fatal(err)
	}
	i := w.nextIntent(pick(w.dice, w.appliers), "")
	outcome, err := i.by.Apply(t.Context(), w.intent(i, true))
	w.outcome(outcome, err)
	if err != nil || outcome.Action != apply.Absent {
		t.Errorf("deleted: %s %v, want Absent", outcome.Action, err)
	}
	w.model, w.latest = newModel(w.kind), nil
	what := w.applyIntent(t, i, false)
	w.keep(t)
	w.latest = nil
	return "after deletion " + what
}
