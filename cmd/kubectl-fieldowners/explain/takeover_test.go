package explain_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
)

// lastAppliedOf is an entry that owns what kubectl goes by.
func lastAppliedOf(manager, operation, subresource string) map[string]any {
	entry := entryOf(manager, operation, "f:x")
	entry["subresource"] = subresource
	entry["fieldsV1"].(map[string]any)["f:metadata"] = map[string]any{"f:annotations": map[string]any{
		"f:kubectl.kubernetes.io/last-applied-configuration": map[string]any{},
	}}
	return entry
}

func explainOne(t *testing.T, answer string, live, intent map[string]any) explain.Explanation {
	t.Helper()
	explanations, err := explain.Answer([]byte(answer), list(live), list(intent))
	if err != nil || len(explanations) != 1 {
		t.Fatalf("%d explanations, %v", len(explanations), err)
	}
	return explanations[0]
}

const takesOver = "kubectl apply takes over everything that client-side apply wrote to this object, and deletes " +
	"the fields that FILE does not list and nobody else owns; other clients, such as apply.Applier, do not."

// TestTakeover tells when kubectl would take over from client-side apply. What
// it then does is in test/integration.
func TestTakeover(t *testing.T) {
	data := map[string]any{"x": "1"}
	for _, c := range []struct {
		reason, owner string // the owner as an answer has it
		live          map[string]any
		want          bool
	}{
		{"named as client-side apply is by default", `"kubectl-client-side-apply" using v1`, nil, true},
		{"and live without managed fields", `"kubectl-client-side-apply" using v1`, configMap(nil, data), true},
		{"an applier of that name", `"kubectl-client-side-apply"`, nil, false},
		{"a subresource", `"kubectl-client-side-apply" with subresource "status" using v1`, nil, false},
		{"another writer, and live is unknown", `"deployer" using v1`, nil, false},
		{"another writer, whose entry has the annotation", `"deployer" using v1`, configMap([]any{lastAppliedOf("deployer", "Update", "")}, data), true},
		{"an applier is in conflict, and a writer has the annotation", `"helm"`,
			configMap([]any{entryOf("helm", "Apply", "f:x"), lastAppliedOf("deployer", "Update", "")}, data), true},
		{"an applier has the annotation", `"helm"`, configMap([]any{lastAppliedOf("helm", "Apply", "")}, data), false},
		{"a writer to a subresource has it", `"helm"`, configMap([]any{lastAppliedOf("m", "Update", "status")}, data), false},
		{"nobody has it", `"edit" using v1`, configMap([]any{entryOf("edit", "Update", "f:x")}, data), false},
	} {
		answer := "Apply failed with 1 conflict: conflict with " + c.owner + ": .data.x"
		e := explainOne(t, answer, c.live, configMap(nil, map[string]any{"x": "2"}))
		for i, way := range e.Ways {
			if got := strings.Count(way.Why, takesOver) == 1; got != c.want || strings.Contains(way.Why, "client-side apply") != c.want {
				t.Errorf("%s: way %d warns: %t; %s", c.reason, i+1, got, way.Why)
			}
			if got := way.Command == ""; got != (c.want && i == 1) {
				t.Errorf("%s: way %d has the command %q", c.reason, i+1, way.Command)
			}
		}
		if got := strings.Contains(e.Ways[1].Why, "keep the live values and stay"); got == c.want {
			t.Errorf("%s: %s", c.reason, e.Ways[1].Why)
		}
		if want := `apply.OnConflict(apply.Reject).At(".data.x", apply.Relinquish)`; e.Ways[1].Go != want {
			t.Errorf("%s: %s", c.reason, e.Ways[1].Go)
		}
		unlocated := explainOne(t, answer, nil, nil)
		for line := range strings.Lines(e.String() + unlocated.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 || strings.TrimSpace(line) == "" && line != "\n" {
				t.Errorf("%s: %d columns, or blanks alone: %q", c.reason, n, line)
			}
		}
	}
}

// TestTakeoverOnly has the same answer with and without the warning: all else
// is the same.
func TestTakeoverOnly(t *testing.T) {
	answer := `Apply failed with 1 conflict: conflict with "helm": .data.x`
	helm := entryOf("helm", "Apply", "f:x")
	without := explainOne(t, answer, configMap([]any{helm, entryOf("deployer", "Update", "f:y")}, nil), nil)
	with := explainOne(t, answer, configMap([]any{helm, lastAppliedOf("deployer", "Update", "")}, nil), nil)
	for i := range with.Ways {
		if without.Ways[i].Why += " But " + takesOver; i == 1 {
			without.Ways[i].Why, without.Ways[i].Command = with.Ways[i].Why, ""
		}
	}
	if diff := cmp.Diff(without.String(), with.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
