package report

import (
	"slices"
	"testing"

	"coapply.dev/compare/results"
)

// TestColours: arms of one workload differ in colour, and those that run most have the first ones.
func TestColours(t *testing.T) {
	var run results.Run
	var all []results.Result
	add := func(workload string, arms ...string) {
		for _, arm := range arms {
			run.Arms = append(run.Arms, results.ArmInfo{Name: arm})
			all = append(all, results.Result{Workload: workload, Arm: arm})
		}
	}
	add("few", "i", "a", "b", "c")
	for range 3 {
		add("many", "a", "b", "d", "e", "f", "g", "h", "c")
	}
	p := newPalette(run, all)
	if first := p[:3]; !slices.Equal(first, []string{"a", "b", "c"}) {
		t.Errorf("%v come first", first)
	}
	for _, other := range []string{"a", "b", "c"} {
		if p.of("i").Class() == p.of(other).Class() {
			t.Errorf("i is drawn as %s is: %q", other, p)
		}
	}
	if n := len(slices.DeleteFunc(slices.Clone(p), func(arm string) bool { return arm == "" })); n != 9 {
		t.Errorf("%d arms of 9: %q", n, p)
	}
}
