package ownership_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/fieldowners"
)

// TestUndo moves fields in one process and gives them back in another.
func TestUndo(t *testing.T) {
	w := newWorld(t, oldReplicas)
	transfer := w.migrate()
	kept, err := json.Marshal(transfer.Moves())
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"path":".spec.replicas","from":{"name":"old","operation":"Update","apiVersion":"apps/v1"},` +
		`"to":{"name":"coapply-test","operation":"Apply","apiVersion":"apps/v1"}}]`
	if diff := cmp.Diff(want, string(kept)); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
	var moved []fieldowners.Handover
	if err := json.Unmarshal(kept, &moved); err != nil {
		t.Fatal(err)
	}
	_, err = transfer.Do(t.Context())
	w.Must(err)
	undo, err := ownership.Undo(t.Context(), w.applierOf(apply.Policy{}), theWeb(w.Live().UID), moved)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Undo of Transfer on Deployment shop/web: 1 field to move, 0 to stay\n"+
		"  move .spec.replicas: coapply-test/Apply -> old/Update\n", undo.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if redo, err := undo.Do(t.Context()); err != nil || len(redo.Moves()) != 1 {
		t.Errorf("%v %v", redo, err)
	}
	w.wantOwner(t, oldReplicas)
	w.WantSent(read, write, read, read, write)
}

// TestUndoOfNothing is of fields that the applier has given up, or gave back before, however they were written.
func TestUndoOfNothing(t *testing.T) {
	for reason, change := range map[string]func(*fieldowners.Handover){
		"by Update":             nil,
		"by Apply":              func(m *fieldowners.Handover) { m.From.Operation = "Apply" },
		"through a subresource": func(m *fieldowners.Handover) { m.From.Subresource = "scale" },
		"of the status":         func(m *fieldowners.Handover) { m.From.Subresource, m.To.Subresource = "status", "status" },
	} {
		w := newWorld(t, oldReplicas)
		undo, err := ownership.Undo(t.Context(), w.applier, theWeb(w.Live().UID), handover(change))
		if err != nil || len(undo.Moves()) != 0 || len(undo.Unmoved()) != 1 {
			t.Fatalf("%s: %v %v", reason, undo, err)
		}
		if _, err := undo.Do(t.Context()); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		w.WantSent(read, read)
	}
}

// TestUndoMeetsOthers, who write to the object, or delete it, before the undo does.
func TestUndoMeetsOthers(t *testing.T) {
	for reason, test := range map[string]struct {
		happens func(*world)
		sent    []string
		err     error
	}{
		"given up meanwhile: nothing is left to give back": {func(w *world) { w.Before(3, func() { w.Touch(); w.Own(pause) }) }, []string{read, read, write, read}, nil},
		"deleted": {func(w *world) { w.Before(2, w.Remove) }, []string{read, read}, apply.ErrUIDMismatch},
	} {
		w := newWorld(t, newReplicas)
		test.happens(w)
		undo, err := ownership.Undo(t.Context(), w.applier, theWeb(w.Live().UID), handover(nil))
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if _, err := undo.Do(t.Context()); !errors.Is(err, test.err) {
			t.Errorf("%s: %v, want %v", reason, err, test.err)
		}
		w.WantSent(test.sent...)
	}
}

func handover(change func(*fieldowners.Handover)) []fieldowners.Handover {
	m := fieldowners.Handover{
		Path: fieldowners.MustParsePath(".spec.replicas"),
		From: fieldowners.Manager{Name: "old", Operation: "Update", APIVersion: "apps/v1"},
		To:   fieldowners.Manager{Name: manager, Operation: "Apply", APIVersion: "apps/v1"},
	}
	if change != nil {
		change(&m)
	}
	return []fieldowners.Handover{m}
}

func TestUndoInput(t *testing.T) {
	w := newWorld(t, oldReplicas)
	for want, test := range map[string]struct {
		object apply.ObjectRef
		moved  []fieldowners.Handover
	}{
		"has no version and kind and name":       {apply.ObjectRef{}, handover(nil)},
		"the reference to the object has no uid": {theWeb(""), handover(nil)},
		"moved is empty":                         {theWeb("uid-1"), nil},
	} {
		_, err := ownership.Undo(t.Context(), w.applier, test.object, test.moved)
		if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for reason, change := range map[string]func(m *fieldowners.Handover){
		"no path":              func(m *fieldowners.Handover) { m.Path = fieldowners.Path{} },
		"to another manager":   func(m *fieldowners.Handover) { m.To.Name = "them" },
		"to an Update":         func(m *fieldowners.Handover) { m.To.Operation = "Update" },
		"from no operation":    func(m *fieldowners.Handover) { m.From.Operation = "" },
		"from nobody":          func(m *fieldowners.Handover) { m.From.Name = "" },
		"between subresources": func(m *fieldowners.Handover) { m.To.Subresource = "status" },
		"from no apiVersion":   func(m *fieldowners.Handover) { m.From.APIVersion = "" },
		"to no apiVersion":     func(m *fieldowners.Handover) { m.To.APIVersion = "" },
	} {
		_, err := ownership.Undo(t.Context(), w.applier, theWeb("uid-1"), handover(change))
		if !errors.Is(err, apply.ErrInvalidIntent) || !strings.Contains(err.Error(), "does not come from a Transfer of the field manager "+manager+";") {
			t.Errorf("%s: %v", reason, err)
		}
	}
	w.WantSent()
	if _, err := ownership.Undo(t.Context(), w.applier, theWeb("uid-1"), handover(nil)); !errors.Is(err, apply.ErrUIDMismatch) {
		t.Errorf("of another object: %v", err)
	}
}
