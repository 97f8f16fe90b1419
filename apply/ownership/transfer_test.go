package ownership_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/ownership"
)

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// transferCase is a Migrate of old, and Do.
type transferCase struct {
	reason  string
	owners  []metav1.ManagedFieldsEntry // old of the replicas, unless given
	happens func(*world)
	uid     types.UID
	sent    []string
	err     error // of Migrate or Do
	undo    int   // fields that the undo moves; -1: there is none
	text    string
}

func (c transferCase) run(t *testing.T) {
	t.Log(c.reason)
	if c.owners == nil {
		c.owners = []metav1.ManagedFieldsEntry{oldReplicas}
	}
	w := newWorld(t, c.owners...)
	if c.happens != nil {
		c.happens(w)
	}
	transfer, err := ownership.Migrate(t.Context(), w.applier, theWeb(c.uid), ownership.From{Manager: "old"})
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
	w.WantSent(c.sent...)
	if err == nil && c.undo > 0 {
		w.wantOwner(t, newReplicas)
	}
}

// wantOwner holds that a manager owns what the entry says.
func (w *world) wantOwner(t *testing.T, want metav1.ManagedFieldsEntry) {
	t.Helper()
	if !slices.ContainsFunc(w.Live().ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		e.Time = nil
		return cmp.Equal(e, want)
	}) {
		t.Errorf("%s does not own the replicas: %v", want.Manager, w.Live().ManagedFields)
	}
}

func TestTransferDo(t *testing.T) {
	owners := func(n int, owners ...metav1.ManagedFieldsEntry) func(*world) {
		return func(w *world) { w.Before(n, func() { w.Touch(); w.Own(owners...) }) }
	}
	const another = "make and check a new Transfer"
	for name, c := range map[string]transferCase{
		"moves": {
			reason: "one read, one guarded write", sent: []string{read, write}, undo: 1,
		},
		"nothing to move": {
			reason: "nothing is sent", owners: []metav1.ManagedFieldsEntry{pause}, sent: []string{read}, undo: 0,
		},
		"stale write, the same would move": {
			reason:  "another manager came in between: its entry stays",
			happens: owners(2, oldReplicas, pause), sent: []string{read, write, read, write}, undo: 1,
		},
		"stale write, something else would move": {
			reason:  "nothing moves that was not shown",
			happens: owners(2, entry("old", "Update", "", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`)),
			sent:    []string{read, write, read}, err: apply.ErrStaleWrite, text: another, undo: -1,
		},
		"stale write, another field would move": {
			reason: "nothing moves that was not shown", happens: owners(2, oldPause),
			sent: []string{read, write, read}, err: apply.ErrStaleWrite, text: another, undo: -1,
		},
		"stale write, and we own the field as well by now": {
			reason:  "it still moves from the same owner to us",
			happens: owners(2, oldReplicas, newReplicas), sent: []string{read, write, read, write}, undo: 1,
		},
		"stale write, done already": {
			reason:  "a Do whose answer was lost is repeated",
			happens: owners(2, newReplicas), sent: []string{read, write, read}, undo: 1,
		},
		"recreated": {
			reason:  "the new object is left alone",
			happens: func(w *world) { w.Before(2, func() { w.Recreate(oldReplicas) }) },
			sent:    []string{read, write, read}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"recreated before the second read": {
			reason: "the new object is left alone",
			happens: func(w *world) {
				w.Before(2, w.Touch)
				w.Before(3, func() { w.Recreate(oldReplicas) })
			},
			sent: []string{read, write, read}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"deleted before the write": {
			reason: "a patch creates nothing", happens: func(w *world) { w.Before(2, w.Remove) },
			sent: []string{read, write, read}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"deleted before the second read": {
			reason: "a patch creates nothing", happens: func(w *world) { w.Before(2, w.Touch); w.Before(3, w.Remove) },
			sent: []string{read, write, read}, err: apply.ErrUIDMismatch, undo: -1,
		},
		"absent": {
			reason: "there never was one that was meant", happens: func(w *world) { w.Remove() },
			sent: []string{read}, err: apply.ErrRefused, text: "not found", undo: -1,
		},
		"absent, uid given": {
			reason: "the one that was meant is gone", happens: func(w *world) { w.Remove() },
			sent: []string{read}, uid: "uid-0", err: apply.ErrUIDMismatch, undo: -1,
		},
		"another uid": {
			reason: "the one that was meant is gone", sent: []string{read}, uid: "uid-0", err: apply.ErrUIDMismatch, undo: -1,
		},
		"answer lost": {
			reason:  "it may have landed: the undo comes with the error",
			happens: func(w *world) { w.At(2, applytest.Fault{LoseAnswer: true}) },
			sent:    []string{read, write}, err: apply.ErrRetryable, undo: 1,
		},
		"forbidden": {
			reason:  "as any other refusal",
			happens: func(w *world) { w.Answer(2, apierrors.NewForbidden(deployments, "web", nil)) },
			sent:    []string{read, write}, err: apply.ErrRefused, undo: -1,
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, c.run) })
	}
}

func TestTransferContended(t *testing.T) {
	c := transferCase{
		reason: "bounded", err: apply.ErrContended, undo: -1, sent: slices.Repeat([]string{read, write}, 8),
		happens: func(w *world) {
			for i := range 8 {
				w.Before(2*i+2, w.Touch)
			}
		},
	}
	synctest.Test(t, c.run)
}

func TestTransferUndo(t *testing.T) {
	w := newWorld(t, oldReplicas)
	const there = "Migrate on Deployment shop/web: 1 field to move, 0 to stay\n  move .spec.replicas: old/Update -> coapply-test/Apply\n"
	const back = "Undo of Migrate on Deployment shop/web: 1 field to move, 0 to stay\n  move .spec.replicas: coapply-test/Apply -> old/Update\n"
	transfer := w.migrate()
	for i, want := range []string{there, back, there, back} {
		if diff := cmp.Diff(want, transfer.String()); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
		if i == 3 { // we give the field up before the last undo: there is nothing to give back
			w.Own(pause)
		}
		next, err := transfer.Do(t.Context())
		w.Must(err)
		transfer = next
	}
	if len(transfer.Moves()) != 0 {
		t.Errorf("last: %v", transfer)
	}
	w.WantSent(read, write, read, write, read, write, read)
}

// TestTransferredFieldsAreSent: an intent that gave way in a field omits the field from later applies, until a transfer moves the field to its
// manager. Then the server would remove an omitted field.
func TestTransferredFieldsAreSent(t *testing.T) {
	w := newWorld(t, entry("autoscaler", "Apply", "", replicasField))
	applier := w.applierOf(apply.OnConflict(apply.Relinquish))
	wanted := apply.Intent{Config: appsv1ac.Deployment("web", "shop").
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3).WithPaused(false))}
	if _, err := applier.Apply(t.Context(), wanted); err != nil || strings.Contains(w.LastBody(), "replicas") {
		t.Fatalf("%v; sent %s", err, w.LastBody())
	}
	transfer, err := ownership.Rename(t.Context(), applier, theWeb(""), ownership.From{Manager: "autoscaler"})
	w.Must(err)
	_, err = transfer.Do(t.Context())
	w.Must(err)
	if _, err := applier.Apply(t.Context(), wanted); err != nil || !strings.Contains(w.LastBody(), "replicas") {
		t.Errorf("%v; sent %s", err, w.LastBody())
	}
}
