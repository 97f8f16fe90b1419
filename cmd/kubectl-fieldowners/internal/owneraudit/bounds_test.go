package owneraudit_test

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
)

func sizeOf(t *testing.T, entry metav1.ManagedFieldsEntry) int {
	t.Helper()
	text, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	return len(text)
}

// TestManyManagers has more managers on one object than are told apart.
func TestManyManagers(t *testing.T) {
	var entries []metav1.ManagedFieldsEntry
	for i := range owneraudit.MaxManagers + 5 {
		entries = append(entries, entry(fmt.Sprintf("m%05d/Apply", i), replicas))
	}
	got := report(deployment("one", entries...))
	if len(got.Managers) != owneraudit.MaxManagers || got.LeftOut.Managers != 5 {
		t.Errorf("%d managers, %d left out", len(got.Managers), got.LeftOut.Managers)
	}
	if first := got.Managers[0]; first.Shared != 1 {
		t.Errorf("%s shares %d fields, want 1", first.Name, first.Shared)
	}
}

// TestManyNames has as many names as objects: managers, kinds and problems.
func TestManyNames(t *testing.T) {
	audit := owneraudit.New()
	for i := range 3 * owneraudit.MaxProblems {
		o := deployment(fmt.Sprint("d", i), entry("a/Apply", replicas), entry("torn/Update", "{"))
		o.Kind = fmt.Sprint("Kind", i)
		audit.Add(o)
	}
	got := audit.Report(true)
	if got.ProblemCount != 3*owneraudit.MaxProblems || len(got.Problems) != owneraudit.MaxProblems {
		t.Errorf("%d of %d problems", len(got.Problems), got.ProblemCount)
	}
	if len(got.Managers) != 1 || got.Managers[0].Objects != 3*owneraudit.MaxProblems {
		t.Errorf("managers %v", rowsOf(got))
	}
}

func TestReportHasNoNull(t *testing.T) {
	got, err := json.Marshal(report())
	const want = `{"complete":true,"objects":0,"bytes":0,"managedFieldsAbsent":0,"absentExamples":[],"managers":[],"findings":[],` +
		`"lists":[],"problems":[],"problemCount":0,"leftOut":{"managers":0,"findings":0}}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}
