package decided

import (
	"strings"
	"testing"
)

func TestNow(t *testing.T) {
	if len(Now.SquareCells()) != 12 || len(Now.Profiles["review"]) == 0 || len(Hash()) != 64 {
		t.Errorf("%+v, %s", Now, Hash())
	}
	if why := Now.ExpectedLoss("apply", "increment"); why == "" {
		t.Error("an apply is expected to keep increments")
	}
	if why := Now.ExpectedLoss("apply", "hot-object"); why != "" {
		t.Errorf("an apply is expected to lose updates: %s", why)
	}
}

func TestParseRefuses(t *testing.T) {
	for want, change := range map[string][2]string{
		"a margin is 5, but must be":   {"square: 0.10", "square: 5"},
		"trials is 2, but an interval": {"trials: 6", "trials: 2"},
		`unknown field "giveUp"`:       {"giveUps: 0.01", "giveUp: 0.01"},
	} {
		if _, err := Parse([]byte(strings.Replace(Text(), change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
