package owneraudit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

var written = metav1.NewTime(time.Date(2026, 3, 2, 8, 11, 9, 0, time.UTC))

// entry makes an entry from "name/Operation[subresource]" or parts of it.
func entry(manager, fields string) metav1.ManagedFieldsEntry {
	name, operation, _ := strings.Cut(manager, "/")
	operation, subresource, _ := strings.Cut(strings.TrimSuffix(operation, "]"), "[")
	return metav1.ManagedFieldsEntry{
		Manager: name, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
		APIVersion: "apps/v1", Time: &written, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func deployment(name string, entries ...metav1.ManagedFieldsEntry) owneraudit.Object {
	return owneraudit.Object{
		Ref:           view.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name},
		ManagedFields: entries,
	}
}

func report(objects ...owneraudit.Object) owneraudit.Report {
	audit := owneraudit.New()
	for _, o := range objects {
		audit.Add(o)
	}
	return audit.Report(true)
}

const (
	replicas = `{"f:spec":{"f:replicas":{}}}`
	both     = `{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:replicas":{}}}`
)

// row is what tests look at of a manager.
type row struct {
	Objects, Fields, Shared int
}

func rowsOf(r owneraudit.Report) map[string]row {
	rows := map[string]row{}
	for _, m := range r.Managers {
		rows[m.Manager.String()] = row{m.Objects, m.Fields, m.Shared}
	}
	return rows
}

func TestManagers(t *testing.T) {
	later := entry("b/Update[scale]", replicas)
	later.APIVersion = "autoscaling/v1"
	later.Time = &metav1.Time{Time: written.Add(time.Hour)}
	for _, test := range []struct {
		reason  string
		objects []owneraudit.Object
		want    map[string]row
	}{
		{"no object", nil, map[string]row{}},
		{
			"a list that is named itself is no field where others name what is in it",
			[]owneraudit.Object{deployment("one", entry("a/Apply", both))},
			map[string]row{"a/Apply": {1, 2, 0}},
		},
		{
			"a field of two is one of each",
			[]owneraudit.Object{deployment("one", entry("a/Apply", both), entry("b/Update[scale]", replicas)), deployment("two", entry("a/Apply", both))},
			map[string]row{"a/Apply": {2, 4, 1}, "b/Update[scale]": {1, 1, 1}},
		},
		{
			"entries of one manager in two API versions are one",
			[]owneraudit.Object{deployment("one", entry("b/Update[scale]", replicas), later)},
			map[string]row{"b/Update[scale]": {1, 1, 0}},
		},
		{
			"an operation makes another manager",
			[]owneraudit.Object{deployment("one", entry("a/Apply", replicas), entry("a/Update", replicas))},
			map[string]row{"a/Apply": {1, 1, 1}, "a/Update": {1, 1, 1}},
		},
		{
			"what one owns as a whole and another in parts is shared by who owns the whole",
			[]owneraudit.Object{deployment("one", entry("a/Apply", `{"f:metadata":{"f:labels":{}}}`), entry("b/Update", both))},
			map[string]row{"a/Apply": {1, 1, 1}, "b/Update": {1, 2, 0}},
		},
	} {
		if diff := cmp.Diff(test.want, rowsOf(report(test.objects...))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", test.reason, diff)
		}
	}
}

func TestManagerRow(t *testing.T) {
	early := entry("b/Update", replicas)
	early.APIVersion, early.Time = "apps/v1beta1", nil
	got := report(deployment("one", entry("b/Update", replicas), early)).Managers
	want := []owneraudit.ManagerRow{{
		Manager: owneraudit.Manager{Name: "b", Operation: "Update"}, Objects: 1, Fields: 1,
		Bytes: sizeOf(t, entry("b/Update", replicas)) + sizeOf(t, early), LastWrite: &written.Time,
		Kinds: []owneraudit.Kind{{APIVersion: "apps/v1", Kind: "Deployment", Objects: 1}}, APIVersions: []string{"apps/v1", "apps/v1beta1"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProblems(t *testing.T) {
	torn := entry("torn\x1b[31m/Update", `{"f:spec":`)
	without := entry("without/Apply", replicas)
	without.FieldsV1 = nil
	audit := owneraudit.New()
	audit.Add(deployment("one", entry("a/Apply", replicas), torn, without))
	audit.Add(deployment("two", entry("a/Apply", replicas)))
	audit.Add(deployment("three"))
	got := audit.Report(true)
	if got.Complete || got.ProblemCount != 2 || got.Objects != 3 || got.ManagedFieldsAbsent != 1 {
		t.Errorf("complete %v, %d problems, %d objects, %d absent", got.Complete, got.ProblemCount, got.Objects, got.ManagedFieldsAbsent)
	}
	if diff := cmp.Diff(map[string]row{"a/Apply": {2, 2, 0}}, rowsOf(got)); diff != "" {
		t.Errorf("the managers that can be read: -want +got:\n%s", diff)
	}
	for i, want := range []string{
		`Deployment shop/one: managedFields[1] (manager "torn\x1b[31m"): fieldsV1: near offset 10`,
		`Deployment shop/one: managedFields[2] (manager "without"): fieldsV1 is missing`,
	} {
		if i >= len(got.Problems) || !strings.HasPrefix(got.Problems[i], want) {
			t.Errorf("problem %d of %q: want %s", i, got.Problems, want)
		}
	}
}
