package explain_test

import (
	"strings"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// TestObject holds which object an explanation is about.
func TestObject(t *testing.T) {
	anywhere := of("v1", "ConfigMap", "", "a")
	for _, c := range []struct {
		reason       string
		live, intent map[string]any
		want         command.Subject
	}{
		{"the live object has more", configMap(nil, nil), nil, command.Subject{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
		{"the intent has no namespace", configMap(nil, nil), anywhere, command.Subject{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
		{"only the intent has one", anywhere, configMap(nil, nil), command.Subject{Kind: "ConfigMap", Namespace: "shop", Name: "a"}},
	} {
		if got := explainOne(t, statusJSON, c.live, c.intent).Subject; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.reason, got, c.want)
		}
	}
}

// TestShown holds what is shown of what is known, and nothing of the rest.
func TestShown(t *testing.T) {
	const cannotTell = "Where only the API server's own string"
	fits := strings.Repeat("é", 67)
	for _, c := range []struct {
		reason       string
		answer       string
		live, intent map[string]any
		shown, not   []string
	}{
		{"one conflict, and nothing is known", `Apply failed with 1 conflict: conflict with "ancient-changes" using v1: .data.a.b`, nil, nil,
			[]string{"1 conflict\n", "kubectl fieldowners get TYPE/NAME\n", cannotTell, "ancient-changes/Update: this name stands"}, []string{"    live ", "    yours ", "--path"}},
		{"one conflict, and the intent", statusJSON, nil, configMap(nil, map[string]any{"x": fits}),
			[]string{"1 conflict on ConfigMap shop/a\n", "    yours  \"" + fits + "\"\n"}, []string{"    live ", cannotTell}},
		{"two conflicts", twoOfOne, nil, nil, []string{"2 conflicts\n"}, []string{"    live ", "    yours "}},
	} {
		text := explainOne(t, c.answer, c.live, c.intent).String()
		for _, part := range c.shown {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.TrimSpace(part)) && !strings.Contains(text, part) {
				t.Errorf("%s: %q is not in\n%s", c.reason, part, text)
			}
		}
		for _, part := range c.not {
			if strings.Contains(text, part) {
				t.Errorf("%s: %q is in\n%s", c.reason, part, text)
			}
		}
		if first, _, _ := strings.Cut(text, "\n"); first+"\n" != c.shown[0] {
			t.Errorf("%s: begins with %q, want %q", c.reason, first, c.shown[0])
		}
	}
}

// TestHidesNothingThatIsNot: of a Secret, too, a value that is not known is none.
func TestHidesNothingThatIsNot(t *testing.T) {
	c := explainOne(t, `Apply failed with 1 conflict: conflict with "m": .data.k`, nil, secretObject("ours")).Conflicts[0]
	if c.Ours == nil || *c.Ours != fieldowners.Hidden || c.Theirs != nil {
		t.Errorf("ours %v, theirs %v", c.Ours, c.Theirs)
	}
}

// TestPoliciesFit: a policy is on one line as long as that has 80 columns, as is a rule with what follows it. A longer name than
// these does not fit either way.
func TestPoliciesFit(t *testing.T) {
	widest := func(e explain.Explanation) (columns int) {
		for line := range strings.Lines(e.String()) {
			columns = max(columns, len(strings.TrimSuffix(line, "\n")))
		}
		return columns
	}
	whole := 0
	for n := range 38 {
		name := strings.Repeat("x", n+1)
		field := explainOne(t, `Apply failed with 1 conflict: conflict with "m": .data.`+name, nil, nil)
		owners := explainOne(t, `Apply failed with 2 conflicts: conflicts with "`+name+"\":\n- .data.a.b\nconflicts with \"b\":\n- .data.a.b\n", nil, nil)
		if widest(field) > 80 || widest(owners) > 80 {
			t.Errorf("%d letters: %d columns for a field, %d for a manager", n+1, widest(field), widest(owners))
		}
		for i, way := range field.Ways {
			if !strings.Contains(way.Go, name) || !strings.Contains(owners.Ways[i].Go, name) {
				t.Errorf("%q is not in %s, or %s", name, way.Go, owners.Ways[i].Go)
			}
			if !strings.Contains(way.Go, "\n") {
				whole = max(whole, len("      ")+len(way.Go))
			}
		}
	}
	if whole != 80 {
		t.Errorf("the longest policy on one line ends in column %d", whole)
	}
}
