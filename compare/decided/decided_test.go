package decided

import (
	"strings"
	"testing"
)

func TestNow(t *testing.T) {
	if len(Now.Primary) == 0 || len(Now.Situations) == 0 || len(Hash()) != 64 {
		t.Errorf("%+v, %s", Now, Hash())
	}
	if why := Now.ExpectedLoss("apply-2", "increment"); why == "" || !Now.Applies("apply-2") {
		t.Error("a variant of apply is expected to keep increments")
	}
	if why := Now.ExpectedLoss("apply", "hot-object"); why != "" {
		t.Errorf("an apply is expected to lose updates: %s", why)
	}
}

func TestParseRefuses(t *testing.T) {
	for want, change := range map[string][2]string{
		"margin is 5, but must be":         {"margin: 0.05", "margin: 5"},
		"trials is 2, but an interval":     {"trials: 6", "trials: 2"},
		`ours is "ssa" and plain is "ssa"`: {"ours: apply", "ours: ssa"},
		"primary lists a cell twice":       {"primary:\n", "primary:\n  - hot-object w1 m4\n"},
		`unknown field "marging"`:          {"margin: 0.05", "marging: 0.05"},
	} {
		if _, err := Parse([]byte(strings.Replace(Text(), change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
