package apply_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"coapply.dev/apply"
)

// wire is a script for transfers, which send JSON patches: it tells a PATCH by its
// guards and the entries it stores.
type wire struct {
	t     *testing.T
	steps []step
	sent  int
}

func (w *wire) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	got := request.Method + " " + strings.TrimPrefix(request.URL.Path, "/apis/")
	if request.Method == http.MethodPatch {
		got = w.patch(request)
	}
	got = strings.TrimSuffix(got, " apps/v1/namespaces/shop/deployments/web")
	if w.sent++; w.sent > len(w.steps) {
		w.t.Errorf("request %d: %s; no more was expected", w.sent, got)
		return nil, errors.New("the script has ended")
	}
	next := w.steps[w.sent-1]
	if got != next.request {
		w.t.Errorf("request %d:\n got %s\nwant %s", w.sent, got, next.request)
	}
	return next.answer(request)
}

func (w *wire) patch(request *http.Request) string {
	if got := request.Header.Get("Content-Type") + " " + request.URL.RawQuery; got != "application/json-patch+json fieldManager="+manager {
		w.t.Errorf("request %d: %s", w.sent+1, got)
	}
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		w.t.Error(err)
	}
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(raw, &operations); err != nil {
		w.t.Error(err)
	}
	text := "PATCH"
	for _, o := range operations {
		if o.Path != "/metadata/managedFields" {
			text += fmt.Sprintf(" %s %s=%s", o.Op, strings.TrimPrefix(o.Path, "/metadata/"), o.Value)
			continue
		}
		var entries []metav1.ManagedFieldsEntry
		if err := json.Unmarshal(o.Value, &entries); err != nil {
			w.t.Error(err)
		}
		for _, e := range entries {
			text += fmt.Sprintf(" | %s %s[%s] %s", e.Manager, e.Operation, e.Subresource, e.FieldsV1.GetRawBytes())
		}
	}
	return text
}

// transferrer is an applier whose server is the script.
func transferrer(t *testing.T, steps ...step) *apply.Applier {
	t.Helper()
	w := &wire{t: t, steps: steps}
	t.Cleanup(func() {
		if w.sent < len(steps) {
			t.Errorf("%d of %d requests were sent; next expected: %s", w.sent, len(steps), steps[w.sent].request)
		}
	})
	c := newScript(t, nil).client(&rest.Config{Host: "http://server", Transport: w, QPS: -1}, nil)
	a, err := apply.New(c, apply.Config{FieldManager: manager, LiveReader: c})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func theWeb(uid types.UID) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
		NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"}, UID: uid,
	}
}

// webOf is the deployment with these entries.
func webOf(uid, resourceVersion string, entries ...metav1.ManagedFieldsEntry) answer {
	d := web(uid, resourceVersion)
	d.ManagedFields = entries
	return ok(d)
}

const replicasField, pausedField = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{}}}`

var (
	oldReplicas = entry("old", "Update", "", replicasField)
	newReplicas = entry(manager, "Apply", "", replicasField)
	pause       = entry("other", "Apply", "", pausedField)

	read      = step{"GET", webOf("uid-1", "7", oldReplicas)}
	patchTo   = func(rv string) string { return patchOf(rv, " | "+manager+" Apply[] "+replicasField) }
	patchBack = func(rv string) string { return patchOf(rv, " | old Update[] "+replicasField) }
	refGone   = fail(apierrors.NewNotFound(deployments, "web"))
)

func patchOf(rv, entries string) string {
	return fmt.Sprintf(`PATCH replace uid="uid-1" replace resourceVersion=%q%s`, rv, entries)
}

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
	transfer, err := applier.Migrate(t.Context(), theWeb(c.uid), apply.From{Manager: "old"})
	var undo *apply.Transfer
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
			err: apply.ErrStaleWrite, text: "make the transfer anew", undo: -1,
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
			steps:  []step{read, {patchTo("7"), refGone}}, err: apply.ErrUIDMismatch, undo: -1,
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
		"forbidden": {
			reason: "as any other refusal",
			steps:  []step{read, {patchTo("7"), fail(apierrors.NewForbidden(deployments, "web", nil))}}, err: apply.ErrRefused, undo: -1,
		},
		"no resourceVersion": {
			reason: "no write is sent unguarded",
			steps:  []step{{"GET", webOf("uid-1", "", oldReplicas)}}, err: apply.ErrRefused, text: "guarded", undo: -1,
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
	transfer, err := applier.Migrate(t.Context(), theWeb(""), apply.From{Manager: "old"})
	for i, want := range []string{
		"Migrate on Deployment shop/web: 1 fields to move, 0 to stay\n  move .spec.replicas: old/Update -> coapply-test/Apply\n",
		"Undo of Migrate on Deployment shop/web: 1 fields to move, 0 to stay\n  move .spec.replicas: coapply-test/Apply -> old/Update\n",
		"Migrate on Deployment shop/web: 1 fields to move, 0 to stay\n  move .spec.replicas: old/Update -> coapply-test/Apply\n",
		"Undo of Migrate on Deployment shop/web: 1 fields to move, 0 to stay\n  move .spec.replicas: coapply-test/Apply -> old/Update\n",
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
