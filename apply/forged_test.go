package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/apply"
)

const ownsReplicas = `,"f:spec":{"f:replicas":{}}`

// forged are entries that only the server can read. They have further fields.
func forged(further string) func(*world) {
	return func(w *world) {
		other := entry("other", "Update", "", deep(`,"f:spec":{"f:v`+w.Live().ResourceVersion+`":{}}`)) // changes, and is not forger's
		owned(entry("forger", "Update", "", deep(further)), other, kubectl)(w)
	}
}

// TestForgedOwner: what a forged entry owns is computed by the code of the API server, which can read it.
func TestForgedOwner(t *testing.T) {
	w := newWorld(t)
	applier := w.applier(relinquish)
	relinquished := []string{"Relinquish .spec.replicas to 3: owned by forger/Update with value 5"}
	for i, c := range []struct {
		further string
		want    []string
	}{{ownsReplicas, relinquished}, {ownsReplicas, relinquished}, {"", nil}} {
		forged(c.further)(w)
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, texts(outcome.Conflicts)); diff != "" || len(outcome.Unread) != 2 {
			t.Errorf("apply %d: %d entries unread, want 2; conflicts (-want +got):\n%s", i+1, len(outcome.Unread), diff)
		}
	}
	w.WantSent(whole, read, pinned, read, pinned, read, whole)
}

// TestForgedOwnerBesideHiddenOwners: a read that shows no owners does not make it unknown.
func TestForgedOwnerBesideHiddenOwners(t *testing.T) {
	w := newWorld(t)
	forged(ownsReplicas)(w)
	allOf(fails(3, overtaken), before(4, hides("forger", "other", "kubectl")), before(5, func(w *world) { w.live = nil }))(w)
	applier := w.applier(relinquish)
	for range 2 {
		if outcome, err := applier.Apply(t.Context(), apply.Intent{Config: threeReplicas()}); err != nil || len(outcome.Conflicts) != 1 {
			t.Errorf("%v, %v", texts(outcome.Conflicts), err)
		}
	}
	w.WantSent(whole, read, pinned, read, whole, pinned, read, pinned)
}

// TestForgedOwnerOfOne: that one field's owner cannot be read says nothing about another field.
func TestForgedOwnerOfOne(t *testing.T) {
	w := newWorld(t)
	forged(ownsReplicas)(w)
	applier := w.applier(relinquish)
	want := []string{"Relinquish .spec.paused to false: owned by kubectl/Apply with value true", "Relinquish .spec.replicas to 3: owned by forger/Update with value 5"}
	for i := range 2 {
		outcome, err := applier.Apply(t.Context(), apply.Intent{Config: replicasAndPause()})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, texts(outcome.Conflicts)); diff != "" {
			t.Errorf("apply %d: conflicts (-want +got):\n%s", i+1, diff)
		}
	}
	w.WantSent(whole, read, pinned, read, pinned)
}

// TestForgedEntriesOfARejection: what could not be read is told beside the error.
func TestForgedEntriesOfARejection(t *testing.T) {
	w := newWorld(t, hpa, entry("broken", "Update", "", deep("")))
	outcome, err := w.applier(apply.Policy{}).Apply(t.Context(), apply.Intent{Config: threeReplicas()})
	if !errors.Is(err, apply.ErrConflict) || len(outcome.Unread) != 1 {
		t.Errorf("%d entries unread, %v", len(outcome.Unread), err)
	}
}
