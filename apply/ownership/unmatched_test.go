package ownership_test

import (
	"context"
	"errors"
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
		w := newWorld(t)
		w.Own(test.entries...)
		transfer, err := test.verb(t.Context(), w.applier, theWeb(""), test.from...)
		if err != nil {
			t.Fatalf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, transfer.Unmatched()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		for _, line := range test.want {
			if !strings.Contains(transfer.String(), "\n  unmatched: "+line+"\n") {
				t.Errorf("%s: the text lacks it:\n%v", test.reason, transfer)
			}
		}
		if len(transfer.Moves())+len(transfer.Unmoved()) == 0 && len(test.want) == 0 {
			t.Errorf("%s: nothing was found:\n%v", test.reason, transfer)
		}
	}
}

// TestTransferDoneBefore: a repeated Do moves nothing. Its write is stale, and the read after the write shows that the fields have moved.
func TestTransferDoneBefore(t *testing.T) {
	w := newWorld(t, oldReplicas)
	transfer := w.migrate()
	for range 3 {
		undo, err := transfer.Do(t.Context())
		if err != nil || len(undo.Moves()) != 1 {
			t.Errorf("the undo is %v, %v", undo, err)
		}
	}
	w.WantSent(read, write, write, read, write, read)
}

// TestTransferAttempts: a ContendedError counts writes, and no reads.
func TestTransferAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oldReplicas)
		for i := range 8 {
			w.Before(2*i+2, w.Touch)
		}
		checkAttempts(t, w.applier, theWeb(""), 8)

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
		applier, err := apply.New(w.Client(w.Config(), nil), apply.Config{FieldManager: manager, LiveReader: live})
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
