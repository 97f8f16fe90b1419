package summary

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary/summarytest"
)

var runs = map[int][]results.Trial{}

// made gives the made-up run of so many blocks. Each test may change what it gets.
func made(blocks int) (results.Run, []results.Trial) {
	if runs[blocks] == nil {
		_, runs[blocks] = summarytest.Run(blocks)
	}
	trials := slices.Clone(runs[blocks])
	for i := range trials {
		trials[i].Client.Requests = maps.Clone(trials[i].Client.Requests)
	}
	return summarytest.Plan(blocks), trials
}

func TestSameBytesAgain(t *testing.T) {
	var first []byte
	for range 3 {
		data, err := results.JSON(Of(made(10)))
		if err != nil {
			t.Fatal(err)
		}
		if first != nil && !bytes.Equal(first, data) {
			t.Fatal("the same run gives other bytes")
		}
		first = data
	}
}

func comparison(t *testing.T, r results.Results, cell, arm, measure string, aa bool) results.Comparison {
	t.Helper()
	for _, c := range r.Comparisons {
		if c.Cell == cell && c.Arm == arm && c.Measure == measure && c.AA == aa {
			return c
		}
	}
	t.Fatalf("no comparison of %s of %s in %s", measure, arm, cell)
	return results.Comparison{}
}

func TestReview(t *testing.T) {
	r := Of(made(10))
	if r.Void != "" {
		t.Fatal(r.Void)
	}
	for _, c := range r.Checks {
		if c.State == failed || c.Result == "" || c.Threat == "" || c.Guard == "" {
			t.Errorf("%s %s: %q", c.Name, c.State, c.Result)
		}
	}
	if c := comparison(t, r, "hot-object w16 m4", "ssa", goodputMeasure, false); c.Word != statistics.Faster || c.Blocks != 10 {
		t.Errorf("%+v", c)
	}
	if c := comparison(t, r, "hot-object w16 m4", "gmu-default-retry", goodputMeasure, true); c.Word == statistics.Faster || c.Word == statistics.Slower {
		t.Errorf("A/A: %+v", c)
	}
	if c := comparison(t, r, "steady-state w1 m1", "ssa", cpuMeasure, false); c.Word != statistics.Slower || c.Ratio < 10 {
		t.Errorf("of a cost, more is slower: %+v", c)
	}
	for _, c := range r.Comparisons {
		if strings.Contains(c.Cell, "w8 m8") && strings.Contains(c.Cell, "hot-object") {
			t.Errorf("a control is compared: %+v", c)
		}
		if !c.AA && c.Arm == c.Baseline {
			t.Errorf("the baseline against itself: %+v", c)
		}
	}
	if !slices.ContainsFunc(r.Rivals, func(c results.Comparison) bool {
		return c.Cell == "hot-object w16 m64" && c.Arm == "ssa" && c.Baseline == "gmu-unbounded" && c.Word == statistics.Slower && c.Adjusted >= c.P
	}) {
		t.Error("no comparison with an arm that is not the baseline")
	}
	for _, c := range r.Rivals {
		if slices.Contains(applies, c.Baseline) || c.Baseline == "gmu-default-retry" && strings.HasPrefix(c.Cell, "hot-object") {
			t.Errorf("no rival: %+v", c)
		}
	}
	if len(r.Verdict) != 5 {
		t.Fatalf("%d lines", len(r.Verdict))
	}
	mentions(t, r.Verdict[0], "4 of 5 cells", "fewer in 1", "hot-object w16 m64", "flips between 4 and 64 managers at 16 writers")
	mentions(t, r.Verdict[1], "less CPU than by gmu-default-retry in ", "less CPU than by gmu-unbounded in ", "3.7 attempts")
	mentions(t, r.Verdict[2], "gmu-replace", "license-finalizer", "95 % sure")
	mentions(t, r.Verdict[3], "gmu up to 85", "gmu-default-retry up to 53", "none given up by gmu-unbounded")
	mentions(t, r.Verdict[4], "the lowest p99 ", "increments without a 409", "check before applying")
}

func mentions(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not say %q", text, part)
		}
	}
}

// TestServerSideApplyLoses: the verdict can say so.
// A look at every workload takes nothing from the cell that was measured often enough, and the verdict says what the
// comparison says.
func TestComparisonsWithoutVerdictTakeNoPart(t *testing.T) {
	run, all := made(6)
	const often = "hot-object w16 m4"
	var trials []results.Trial
	for _, trial := range all {
		if trial.Block == 0 || trial.String() == often {
			trials = append(trials, trial)
		}
	}
	r := Of(run, trials)
	if c := comparison(t, r, often, "ssa", goodputMeasure, false); c.Word != statistics.Faster {
		t.Errorf("%+v", c)
	}
	mentions(t, r.Verdict[0], "more intents a second in 1 of 1 cell", often)
}

func TestServerSideApplyLoses(t *testing.T) {
	run, trials := made(10)
	for i := range trials {
		if trials[i].Arm == "ssa" {
			trials[i].Timed.Landed /= 10
			slower := 20 * *trials[i].Server.APIServerCPU
			trials[i].Server.APIServerCPU = &slower
		}
	}
	r := Of(run, trials)
	mentions(t, r.Verdict[0], "more intents a second in 0 of 5 cells, fewer in 5 (at worst 0.0", "against gmu-unbounded")
	mentions(t, r.Verdict[1], "less CPU than by gmu-default-retry in 0 of 5 cells, more in 5")
}

// A loss that nobody expects comes first.
func TestUnexpectedLoss(t *testing.T) {
	run, trials := made(6)
	for i := range trials {
		if trials[i].Arm == "apply" && trials[i].Managers == 64 {
			trials[i].Oracle.Lost = 2
		}
	}
	mentions(t, Of(run, trials).Verdict[2], "Correctness: LOST, and must not: apply in hot-object w16 m64 12 values in ")
}

func TestVoid(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*results.Run, []results.Trial) []results.Trial
		want   string
	}{
		{"a control lost nothing", func(_ *results.Run, trials []results.Trial) []results.Trial {
			for i := range trials {
				if trials[i].Arm == "put-no-rv" {
					trials[i].Oracle.Lost = 0
				}
			}
			return trials
		}, "put-no-rv lost none of"},
		{"a control was not measured", func(_ *results.Run, trials []results.Trial) []results.Trial {
			return slices.DeleteFunc(trials, func(t results.Trial) bool { return t.Arm == "shared-manager" })
		}, "shared-manager was not measured"},
		{"no control was planned", func(run *results.Run, trials []results.Trial) []results.Trial {
			run.Plan = slices.DeleteFunc(run.Plan, func(c results.PlannedCell) bool { return c.Control })
			return trials
		}, "no control was planned"},
	} {
		run, trials := made(10)
		trials = c.change(&run, trials)
		r := Of(run, trials)
		mentions(t, r.Void, c.want)
		for _, c := range r.Comparisons {
			if c.Word != statistics.NoVerdict || c.Why == "" {
				t.Errorf("void, and %s is %s", c.Arm, c.Word)
			}
		}
		for _, h := range r.Hypotheses {
			if h.State == holds || h.State == doesNotHold {
				t.Errorf("%s: void, and %s %s", c.reason, h.Name, h.State)
			}
		}
		if len(r.Verdict) != 5 || !strings.Contains(r.Verdict[0], "void") {
			t.Errorf("%s: %q", c.reason, r.Verdict)
		}
	}
}

// Of few trials there are figures, and no verdict.
func TestThinRun(t *testing.T) {
	run, trials := made(3)
	run.Interrupted = "Ctrl-C"
	r := Of(run, trials[:len(trials)-20])
	for _, c := range r.Comparisons {
		if c.Word != statistics.NoVerdict {
			t.Errorf("3 blocks, and %s in %s is %s", c.Arm, c.Cell, c.Word)
		}
		mentions(t, c.Why, "too few trials")
	}
	if len(r.Verdict) != 5 {
		t.Fatal(r.Verdict)
	}
	mentions(t, r.Verdict[0], "no verdict", "too few trials")
	mentions(t, r.Verdict[4], "too few trials")
	if r.Run.Interrupted != "Ctrl-C" || r.Run.Trials >= r.Run.Planned {
		t.Errorf("%+v", r.Run)
	}
}

// A run of which nothing was measured has a summary all the same.
func TestEmptyRun(t *testing.T) {
	run, _ := made(10)
	run.Ended = nil
	r := Of(run, nil)
	if r.Void == "" || len(r.Verdict) != 5 || len(r.Cells) != 0 || len(r.Checks) < 24 {
		t.Errorf("void %q, %d lines, %d cells, %d checks", r.Void, len(r.Verdict), len(r.Cells), len(r.Checks))
	}
	for _, c := range r.Checks {
		if c.State != notApplicable {
			t.Errorf("%s %s without a trial", c.Name, c.State)
		}
	}
	mentions(t, r.Run.Interrupted, "did not come to its end")
}

// A ratio says nothing of arms that lose what they write, that have other work to do, or whose server works for others.
func TestIncomparable(t *testing.T) {
	run, trials := made(6)
	for i := range run.Plan {
		if run.Plan[i].Workload == "steady-state" {
			run.Plan[i].Workload = "fight"
		}
	}
	for i := range trials {
		if trials[i].Workload == "steady-state" {
			trials[i].Workload = "fight"
		}
		if trials[i].String() == "hot-object w4 m4" {
			trials[i].Server.Revisions = trials[i].Oracle.Acknowledged + 1
		}
	}
	r := Of(run, trials)
	for _, test := range []struct{ cell, arm, measure, want string }{
		{"increment w8 m8", "ssa", goodputMeasure, "it lost updates"},
		{"devbox-status w4 m4", "gmu-replace", cpuMeasure, "it lost updates"},
		{"fight w1 m1", "ssa", goodputMeasure, "who is rejected"},
		{"hot-object w4 m4", "ssa", cpuMeasure, "others write as well"},
	} {
		if c := comparison(t, r, test.cell, test.arm, test.measure, false); c.Word != statistics.NoVerdict || !strings.Contains(c.Why, test.want) {
			t.Errorf("%s of %s in %s: %s, %s", test.measure, test.arm, test.cell, c.Word, c.Why)
		}
	}
	if c := comparison(t, r, "hot-object w4 m4", "ssa", goodputMeasure, false); c.Word == statistics.NoVerdict {
		t.Errorf("goodput is the arm's own: %+v", c)
	}
}
