package lint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
)

// TestManyManagers holds from when on it is told of, and of whom.
func TestManyManagers(t *testing.T) {
	managers := func(appliers, updaters int) []metav1.ManagedFieldsEntry {
		entries := []metav1.ManagedFieldsEntry{entry("main", "Apply", `{"f:spec":{"f:a":{},"f:b":{},"f:c":{}}}`)}
		for i := range appliers - 1 {
			entries = append(entries, entry(fmt.Sprintf("a%02d", i), "Apply", fmt.Sprintf(`{"f:data":{"f:k%d":{}}}`, i)))
		}
		for i := range updaters {
			entries = append(entries, entry(fmt.Sprintf("U%02d", i), "Update", fmt.Sprintf(`{"f:status":{"f:k%d":{}}}`, i)))
		}
		return entries
	}
	const move = "kubectl fieldowners migrate TYPE/NAME --from MANAGER --to main"
	for _, c := range []struct {
		reason              string
		appliers, updaters  int
		managers, begin, do string
	}{
		{"one less", 10, 5, "", "", ""},
		{"as many, more that apply", 10, 6, "a00/Apply a01/Apply a02/Apply", "the object has 16 managers (10 of them apply) ", move + " --operation Apply"},
		{"more that update, by subresources", 3, 13, "a00/Apply a01/Apply U00/Update", "the object has 16 managers (3 of them apply) ", move + " --operation Apply"},
		{"only one applies", 1, 18, "U00/Update U01/Update U02/Update", "the object has 19 managers (1 of them apply) ", move},
	} {
		entries := managers(c.appliers, c.updaters)
		findings, err := lint.Check(append(entries, entries[0]), lint.Facts{}) // an entry twice is one manager
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(append(entries, entries[0]))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{"", "", ""}
		for _, f := range findings {
			if f.Rule != lint.RuleManyManagers {
				continue
			}
			names := make([]string, len(f.Managers))
			for i, m := range f.Managers {
				names[i] = m.String()
			}
			begin, _, _ := strings.Cut(f.Message, "and ")
			got = []string{strings.Join(names, " "), begin, f.Remedy}
			if size := fmt.Sprintf(" and %d bytes of managed fields:", len(encoded)); !strings.Contains(f.Message, size) {
				t.Errorf("%s: %q has not %q", c.reason, f.Message, size)
			}
		}
		if diff := cmp.Diff([]string{c.managers, c.begin, c.do}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestLargestFirst: of managed fields that are too large, those who own most are named.
func TestLargestFirst(t *testing.T) {
	var entries []metav1.ManagedFieldsEntry
	for i := range 9 {
		entries = append(entries, entry(fmt.Sprintf("m%d", i), "Update", fmt.Sprintf(`{"f:spec":{"f:k%s":{}}}`, strings.Repeat("x", i))))
	}
	findings, err := lint.Check(entries, lint.Facts{ObjectBytes: 1})
	if err != nil || len(findings) != 1 {
		t.Fatal(findings, err)
	}
	want := []string{"m8/Update", "m7/Update", "m6/Update"}
	for i, m := range findings[0].Managers {
		if m.String() != want[i] {
			t.Errorf("manager %d is %s, want %s", i, m, want[i])
		}
	}
}
