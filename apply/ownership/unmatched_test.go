package ownership_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

func TestTransferUnmatched(t *testing.T) {
	kubectl := entry("kubectl", "Update", "", `{"f:spec":{"f:template":{"f:spec":{"f:args":{}}},"f:replicas":{}}}`)
	status := entry("us", "Apply", "status", `{"f:status":{"f:phase":{}}}`)
	own := entry(manager, "Apply", "", pausedField)
	from := func(manager string, paths ...string) ownership.From {
		return ownership.From{Manager: manager, Paths: paths}
	}
	migrate, rename := ownership.Migrate, ownership.Rename
	for _, test := range []struct {
		reason  string
		verb    func(context.Context, *apply.Applier, apply.ObjectRef, ...ownership.From) (*ownership.Transfer, error)
		entries []metav1.ManagedFieldsEntry
		from    []ownership.From
		want    []string
	}{
		{"all was found", migrate, []metav1.ManagedFieldsEntry{kubectl}, []ownership.From{from("kubectl", ".spec.template", ".spec.replicas")}, nil},
		{
			"a misspelled name", migrate, []metav1.ManagedFieldsEntry{kubectl, status},
			[]ownership.From{from("old"), from("kubectl")},
			[]string{"old/Update owns no field of the object; the owners are kubectl/Update, us/Apply[status]"},
		},
		{
			"an owner with two entries", migrate, []metav1.ManagedFieldsEntry{former, {
				Manager: former.Manager, Operation: former.Operation, APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: former.FieldsV1,
			}}, []ownership.From{from("old")},
			[]string{"old/Update owns no field of the object; the owners are former/Update"},
		},
		{
			"wiped", rename, nil, []ownership.From{from("old", ".spec")},
			[]string{"old/Apply owns no field of the object; no owners are recorded"},
		},
		{
			"the other verb", migrate, []metav1.ManagedFieldsEntry{kubectl, status}, []ownership.From{from("us")},
			[]string{"us/Update owns no field of the object; the manager owns fields by Apply: use Rename"},
		},
		{
			"the other verb, the other way", rename, []metav1.ManagedFieldsEntry{kubectl}, []ownership.From{from("kubectl")},
			[]string{"kubectl/Apply owns no field of the object; the manager owns fields by Update: use Migrate"},
		},
		{
			"ours already: nobody can rename itself", migrate, []metav1.ManagedFieldsEntry{own}, []ownership.From{from(manager)},
			[]string{manager + "/Update owns no field of the object; the manager already owns fields by Apply"},
		},
		{
			"ours by Update", rename, []metav1.ManagedFieldsEntry{entry(manager, "Update", "", pausedField)}, []ownership.From{from(manager)},
			[]string{manager + "/Apply owns no field of the object; the manager owns fields by Update: use Migrate"},
		},
		{
			"misspelled paths", migrate, []metav1.ManagedFieldsEntry{kubectl}, []ownership.From{from("kubectl", ".spec.replica", ".spec.replicas", ".status")},
			[]string{"kubectl/Update owns no field at or below .spec.replica", "kubectl/Update owns no field at or below .status"},
		},
		{
			"the other verb for one path", migrate, []metav1.ManagedFieldsEntry{kubectl, entry("kubectl", "Apply", "", pausedField)},
			[]ownership.From{from("kubectl", ".spec.replicas", ".spec.paused")},
			[]string{"kubectl/Update owns no field at or below .spec.paused; the manager owns fields by Apply: use Rename"},
		},
		{
			"what is a part of a whole is found, and stays", migrate, []metav1.ManagedFieldsEntry{kubectl},
			[]ownership.From{from("kubectl", ".spec.template.spec.args[0]")}, nil,
		},
	} {
		transfer, err := test.verb(t.Context(), transferrer(t, step{"GET", webOf("uid-1", "7", test.entries...)}), theWeb(""), test.from...)
		if err != nil {
			t.Fatalf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, transfer.Unmatched()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		for _, line := range test.want {
			if !strings.Contains(transfer.String(), "\n  none "+line+"\n") {
				t.Errorf("%s: the text lacks it:\n%v", test.reason, transfer)
			}
		}
		if len(transfer.Moves())+len(transfer.Unmoved()) == 0 && len(test.want) == 0 {
			t.Errorf("%s: nothing was found:\n%v", test.reason, transfer)
		}
	}
}

// TestTransferDoneBefore: what was done moves no more, and each time one write, which
// is stale, goes before the read that tells.
func TestTransferDoneBefore(t *testing.T) {
	moved := webOf("uid-1", "8", newReplicas)
	again := []step{{patchTo("7"), stale()}, {"GET", moved}}
	applier := transferrer(t, slices.Concat([]step{read, {patchTo("7"), moved}}, again, again)...)
	transfer, err := ownership.Migrate(t.Context(), applier, theWeb(""), ownership.From{Manager: "old"})
	for range 3 {
		if err != nil {
			t.Fatal(err)
		}
		var undo *ownership.Transfer
		if undo, err = transfer.Do(t.Context()); err == nil && len(undo.Moves()) != 1 {
			t.Errorf("the undo is %v", undo)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// TestTransferAttempts: a ContendedError counts writes and dry runs, and no reads.
func TestTransferAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []step{{"GET", webOf("uid-1", "7", oldReplicas, former)}}
		for range 8 { // dry run and write in turn
			steps = append(steps, step{"dry run, " + patchTo("7") + formerText, webOf("uid-1", "7", newReplicas, former)},
				step{patchTo("7") + formerText, stale()}, steps[0])
		}
		checkAttempts(t, transferrer(t, slices.Clone(steps[:len(steps)-1])...), theWeb(""), 16)

		// From the second read on the two apiVersions are never of one object.
		hpa := theWeb("")
		hpa.GroupVersionKind = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")
		reads := 0
		moving := func(u *unstructured.Unstructured) error {
			if reads++; reads > 1 {
				u.SetUID(types.UID("uid-2"))
			}
			return nil
		}
		live := versions{byVersion: map[string]func(*unstructured.Unstructured) error{"autoscaling/v1": moving}}
		applier, err := apply.New(clientOf(t, &script{t: t}), apply.Config{FieldManager: manager, LiveReader: live})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ownership.Migrate(t.Context(), applier, hpa, ownership.From{Manager: "old"}); err != nil {
			t.Fatal(err)
		}
		checkAttempts(t, applier, hpa, 0)
	})
}

func checkAttempts(t *testing.T, applier *apply.Applier, object apply.ObjectRef, want int) {
	t.Helper()
	transfer, err := ownership.Migrate(t.Context(), applier, object, ownership.From{Manager: "old"})
	if err == nil {
		_, err = transfer.Do(t.Context())
	}
	contended, ok := errors.AsType[*apply.ContendedError](err)
	if !ok || contended.Attempts != want {
		t.Errorf("%v, want a ContendedError with %d writes", err, want)
	}
}
