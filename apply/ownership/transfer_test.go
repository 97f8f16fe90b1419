package ownership_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

// transferCase is a Migrate of old, and Do.
type transferCase struct {
	reason string
	steps  []step
	uid    types.UID
	err    error // of Migrate or Do
	undo   int   // fields that the undo moves; -1: there is none
	text   string
}

func (c transferCase) run(t *testing.T) {
	t.Log(c.reason)
	applier := transferrer(t, c.steps...)
	transfer, err := ownership.Migrate(t.Context(), applier, theWeb(c.uid), ownership.From{Manager: "old"})
	var undo *ownership.Transfer
	if err == nil {
		undo, err = transfer.Do(t.Context())
	}
	if !errors.Is(err, c.err) || c.err == nil && err != nil {
		t.Errorf("error %v, want %v", err, c.err)
	}
	if err != nil && !strings.Contains(err.Error(), c.text) {
		t.Errorf("the error does not say %q: %v", c.text, err)
	}
	got := -1
	if undo != nil {
		got = len(undo.Moves())
	}
	if got != c.undo {
		t.Errorf("the undo moves %d fields, want %d", got, c.undo)
	}
}

func TestTransferDo(t *testing.T) {
	moved := webOf("uid-1", "8", newReplicas)
	for name, c := range map[string]transferCase{
		"moves": {
			reason: "one read, one guarded write",
			steps:  []step{read, {patchTo("7"), moved}}, undo: 1,
		},
		"nothing to move": {
			reason: "nothing is sent",
			steps:  []step{{"GET", webOf("uid-1", "7", pause)}}, undo: 0,
		},
		"stale write, the same would move": {
			reason: "another manager came in between: its entry is in the second write",
			steps: []step{read, {patchTo("7"), stale()}, {"GET", webOf("uid-1", "8", oldReplicas, pause)},
				{patchTo("8") + " | other Apply[] " + pausedField, webOf("uid-1", "9", newReplicas, pause)}},
			undo: 1,
		},
		"stale write, something else would move": {
			reason: "nothing moves that was not shown",
			steps: []step{read, {patchTo("7"), stale()},
				{"GET", webOf("uid-1", "8", entry("old", "Update", "", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`))}},
			err: apply.ErrStaleWrite, text: "make and check a new transfer", undo: -1,
		},
		"stale write, another field would move": {
			reason: "nothing moves that was not shown",
			steps:  []step{read, {patchTo("7"), stale()}, {"GET", webOf("uid-1", "8", entry("old", "Update", "", pausedField))}},
			err:    apply.ErrStaleWrite, text: "make and check a new transfer", undo: -1,
		},
		"stale write, the field is owned in another apiVersion by now": {
			reason: "there the path may be another field than was shown",
			steps:  []step{read, {patchTo("7"), stale()}, {"GET", webOf("uid-1", "8", oldReplicasOfFormerDays)}},
			err:    apply.ErrStaleWrite, text: "make and check a new transfer", undo: -1,
		},
		"stale write, and we own the field as well by now": {
			reason: "it still moves from the same owner to us",
			steps:  []step{read, {patchTo("7"), stale()}, {"GET", webOf("uid-1", "8", oldReplicas, newReplicas)}, {patchTo("8"), webOf("uid-1", "9", newReplicas)}},
			undo:   1,
		},
		"stale write, done already": {
			reason: "a Do whose answer was lost is repeated",
			steps:  []step{read, {patchTo("7"), stale()}, {"GET", moved}}, undo: 1,
		},
		"recreated": {
			reason: "the new object is left alone",
			steps:  []step{read, {patchTo("7"), stale()}, {"GET", webOf("uid-2", "9", oldReplicas)}},
			err:    apply.ErrUIDMismatch, undo: -1,
		},
		"immutable uid": {
			reason: "the other way a recreated object answers",
			steps:  []step{read, {patchTo("7"), otherUID()}}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"deleted before the write": {
			reason: "a patch creates nothing",
			steps:  []step{read, {patchTo("7"), refGone}, {"GET", refGone}}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"deleted before the second read": {
			reason: "a patch creates nothing",
			steps:  []step{read, {patchTo("7"), stale()}, {"GET", refGone}}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"absent": {
			reason: "there never was one that was meant",
			steps:  []step{{"GET", refGone}}, err: apply.ErrRefused, text: "not found", undo: -1,
		},
		"absent, uid given": {
			reason: "the one that was meant is gone",
			steps:  []step{{"GET", refGone}}, uid: "uid-1", err: apply.ErrUIDMismatch, undo: -1,
		},
		"another uid": {
			reason: "the one that was meant is gone",
			steps:  []step{read}, uid: "uid-0", err: apply.ErrUIDMismatch, undo: -1,
		},
		"answer lost": {
			reason: "it may have landed: the undo comes with the error",
			steps:  []step{read, {patchTo("7"), breaks(syscall.ECONNRESET)}}, err: apply.ErrRetryable, undo: 1,
		},
		"stored otherwise": {
			reason: "a webhook or a server that knows better: said, with an undo for what it made of it",
			steps:  []step{read, {patchTo("7"), webOf("uid-1", "8", oldReplicas)}},
			err:    apply.ErrRefused, text: manager + "/Apply does not own .spec.replicas", undo: 1,
		},
		"several apiVersions": {
			reason: "a dry run shows first whether the server can still store them",
			steps: []step{{"GET", webOf("uid-1", "7", oldReplicas, former)},
				{"dry run, " + patchTo("7") + formerText, webOf("uid-1", "7", newReplicas, former)},
				{patchTo("7") + formerText, webOf("uid-1", "8", newReplicas, former)}},
			undo: 1,
		},
		"an apiVersion that the server does not know any more": {
			reason: "any write would wipe all managed fields: not this one",
			steps: []step{{"GET", webOf("uid-1", "7", oldReplicas, former)},
				{"dry run, " + patchTo("7") + formerText, webOf("uid-1", "7")}},
			err: apply.ErrRefused, text: "nothing was written: in a dry run, the API server did not store the managed fields as sent, perhaps because it has no apps/v0", undo: -1,
		},
		"a bystander's entry would be dropped": {
			reason: "nobody loses a field, whoever it is",
			steps: []step{{"GET", webOf("uid-1", "7", oldReplicas, former)},
				{"dry run, " + patchTo("7") + formerText, webOf("uid-1", "7", newReplicas)}},
			err: apply.ErrRefused, text: "former/Update does not own .spec.paused", undo: -1,
		},
		"the dry run is stale": {
			reason: "as with the write itself",
			steps: []step{{"GET", webOf("uid-1", "7", oldReplicas, former)},
				{"dry run, " + patchTo("7") + formerText, stale()}, {"GET", webOf("uid-1", "8", oldReplicas)},
				{patchTo("8"), webOf("uid-1", "9", newReplicas)}},
			undo: 1,
		},
		"forbidden": {
			reason: "as any other refusal",
			steps:  []step{read, {patchTo("7"), fail(apierrors.NewForbidden(deployments, "web", nil))}}, err: apply.ErrRefused, undo: -1,
		},
		"no resourceVersion": {
			reason: "no write is sent unguarded",
			steps:  []step{{"GET", webOf("uid-1", "", oldReplicas)}}, err: apply.ErrRefused, text: "LiveReader returned the object without", undo: -1,
		},
		"no uid": {
			reason: "no write is sent unguarded",
			steps:  []step{{"GET", webOf("", "7", oldReplicas)}}, err: apply.ErrRefused, text: "LiveReader returned the object without", undo: -1,
		},
		"malformed managed fields": {
			reason: "nothing is guessed",
			steps:  []step{{"GET", webOf("uid-1", "7", entry("old", "Update", "", `{"f:spec":`+"1}"))}},
			err:    apply.ErrRefused, text: `managedFields[0] (manager "old")`, undo: -1,
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, c.run) })
	}
}

func TestTransferContended(t *testing.T) {
	steps := []step{read}
	for range 8 {
		steps = append(steps, step{patchTo("7"), stale()}, read)
	}
	c := transferCase{reason: "bounded", steps: steps[:len(steps)-1], err: apply.ErrContended, undo: -1}
	synctest.Test(t, c.run)
}

func TestTransferUndo(t *testing.T) {
	applier := transferrer(t, read, step{patchTo("7"), webOf("uid-1", "8", newReplicas)},
		step{"GET", webOf("uid-1", "8", newReplicas)}, step{patchBack("8"), webOf("uid-1", "9", oldReplicas)},
		step{"GET", webOf("uid-1", "9", oldReplicas)}, step{patchTo("9"), webOf("uid-1", "10", newReplicas)},
		step{"GET", webOf("uid-1", "11", pause)})
	transfer, err := ownership.Migrate(t.Context(), applier, theWeb(""), ownership.From{Manager: "old"})
	for i, want := range []string{
		"Migrate on Deployment shop/web: 1 field to move, 0 to stay\n  move .spec.replicas: old/Update -> coapply-test/Apply\n",
		"Undo of Migrate on Deployment shop/web: 1 field to move, 0 to stay\n  move .spec.replicas: coapply-test/Apply -> old/Update\n",
		"Migrate on Deployment shop/web: 1 field to move, 0 to stay\n  move .spec.replicas: old/Update -> coapply-test/Apply\n",
		"Undo of Migrate on Deployment shop/web: 1 field to move, 0 to stay\n  move .spec.replicas: coapply-test/Apply -> old/Update\n",
	} {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if diff := cmp.Diff(want, transfer.String()); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		transfer, err = transfer.Do(t.Context())
	}
	// We had given it up before the last undo: there was nothing to give back.
	if err != nil || len(transfer.Moves()) != 0 {
		t.Errorf("last: %v %v", transfer, err)
	}
}
