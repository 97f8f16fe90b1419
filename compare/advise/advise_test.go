package advise

import (
	"testing"
	"time"

	"coapply.dev/compare/results"
)

func TestLayers(t *testing.T) {
	for _, test := range []struct {
		reason string
		write  Write
		want   [4]bool // deep copy, resourceVersion, retry, expectations
	}{
		{"a create from nothing", Write{}, [4]bool{}},
		{"status from the cache", Write{Cached: true, Updates: true, Repeatable: true}, [4]bool{true, true, true, false}},
		{"an update with a side effect inside", Write{Updates: true}, [4]bool{false, true, false, false}},
		{"a create may be repeated, and is not for that reason", Write{Repeatable: true}, [4]bool{}},
		{"pods counted in the cache", Write{Counts: true}, [4]bool{false, false, false, true}},
	} {
		for i, layer := range Layers(test.write) {
			if layer.Needed != test.want[i] || layer.Why == "" {
				t.Errorf("%s: %s is needed: %v, %q", test.reason, layer.Name, layer.Needed, layer.Why)
			}
		}
	}
}

func result(arm string, writers, managers int, goodput float64) results.Result {
	return results.Result{
		Workload: "hot-object", Arm: arm, Writers: writers, Objects: 1, Managers: managers, Trials: 10,
		Goodput: &results.Interval{Mean: goodput},
	}
}

func TestFor(t *testing.T) {
	lossy, givesUp := result("merge-patch", 16, 4, 900), result("gmu", 16, 4, 800)
	lossy.LostUpdates, givesUp.GiveUps = 1, 1
	far := result("ssa", 16, 4, 700)
	far.RTTms = 5
	many := result("gmu-cached", 16, 4, 1000)
	many.Objects = 64
	r := results.Results{
		Cells: []results.Result{
			lossy, givesUp, result("ssa", 16, 4, 100), result("apply", 16, 4, 200), result("ssa", 1, 1, 300), far, many,
		},
		Comparisons: []results.Comparison{{Cell: "hot-object w16 m4", Arm: "ssa", Measure: "goodput", Ratio: 2}},
	}
	advice, ok := For(r, Situation{Writers: 20, Objects: 1, Managers: 4})
	if !ok || advice.Cell != "hot-object w16 m4" || advice.Exact {
		t.Fatalf("advice from %q, exact: %v", advice.Cell, advice.Exact)
	}
	for i, want := range []string{"apply", "ssa", "merge-patch", "gmu"} {
		if got := advice.Strategies[i]; got.Arm != want || (got.Against != "") != (i > 1) || (got.Comparison != nil) != (want == "ssa") {
			t.Errorf("place %d: %s, against it %q, compared: %v", i, got.Arm, got.Against, got.Comparison != nil)
		}
	}
	if advice, _ = For(r, Situation{Writers: 16, Objects: 1, Managers: 4, RTT: 5 * time.Millisecond}); !advice.Exact || len(advice.Strategies) != 1 {
		t.Errorf("a round-trip time is part of a cell: %+v", advice)
	}
	if advice, _ = For(r, Situation{Writers: 16, Objects: 100, Managers: 4}); advice.Cell != "hot-object w16 m4 o64" || advice.Exact {
		t.Errorf("objects are part of a cell: %+v", advice)
	}
	r.Void = "a control was not caught"
	if _, ok = For(r, Situation{Writers: 1, Objects: 1, Managers: 1}); ok {
		t.Error("advice from a void run")
	}
}
