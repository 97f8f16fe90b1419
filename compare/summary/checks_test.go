package summary_test

import (
	"slices"
	"strings"
	"testing"

	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

// TestChecksFail: each check fails on what it guards against.
func TestChecksFail(t *testing.T) {
	everyTrial := func(change func(*results.Trial)) func(*results.Run, []results.Trial) {
		return func(_ *results.Run, trials []results.Trial) {
			for i := range trials {
				change(&trials[i])
			}
		}
	}
	changes := map[string]func(*results.Run, []results.Trial){
		"decided": func(run *results.Run, _ []results.Trial) { run.Decided = "0123" },
		"controls": everyTrial(func(tr *results.Trial) {
			if tr.Arm == "put-no-rv" {
				tr.Oracle.Lost = 0
			}
		}),
		"nothing-lost": func(_ *results.Run, trials []results.Trial) { trials[0].Oracle.Lost = 1 },
		"phantoms":     func(_ *results.Run, trials []results.Trial) { trials[0].Oracle.Phantom = 1 },
		"a-a": everyTrial(func(tr *results.Trial) {
			if tr.AA {
				tr.Timed.Landed *= 2
			}
		}),
		"accounting": func(_ *results.Run, trials []results.Trial) { trials[0].Client.StaleWrites += 1000 },
		"littles-law": everyTrial(func(tr *results.Trial) {
			if tr.Arm == "apply" {
				tr.Timed.Landed = tr.Timed.Landed * 3 / 4
				tr.Timed.Intents = tr.Timed.Landed
			}
		}),
		"void-trials": func(_ *results.Run, trials []results.Trial) { trials[0].Void = "a gap" },
		"complete":    func(run *results.Run, _ []results.Trial) { run.Plan[0].Blocks++ },
		"fsync":       func(run *results.Run, _ []results.Trial) { run.Environment.EtcdFsync = "off" },
		"priority":    func(run *results.Run, _ []results.Trial) { run.Environment.Groups = []string{"system:masters"} },
		"pinned":      func(run *results.Run, _ []results.Trial) { run.Environment.GeneratorCores = []int{0, 1} },
		"drift": everyTrial(func(tr *results.Trial) {
			if tr.Block >= 5 {
				tr.Timed.Landed *= 2
			}
		}),
	}
	run, trials := madeUp()
	for _, c := range summary.Of(run, trials).Checks {
		change, known := changes[c.Name]
		if !known {
			t.Errorf("check %s: nothing makes it fail", c.Name)
			continue
		}
		if c.State != "passed" {
			t.Errorf("%s: %s, %s", c.Name, c.State, c.Seen)
		}
		run, trials := madeUp()
		change(&run, trials)
		if after := check(t, summary.Of(run, trials), c.Name); after.State != "failed" {
			t.Errorf("%s does not fail: %s", c.Name, after.Seen)
		}
	}
}

// TestNotes: what a reader has to know first.
func TestNotes(t *testing.T) {
	run, trials := madeUp()
	run.Decided, run.Interrupted = "0123456789abcdef", "Ctrl-C"
	s := summary.Of(run, trials[:100])
	has(t, strings.Join(s.Notes, "\n"), "Interrupted after 100 of ", "Exploratory: the decided.yaml of the run (0123456789ab)")
	run, trials = madeUp()
	for i := range run.Plan {
		run.Plan[i].Objects = 7
	}
	for i := range trials {
		trials[i].Objects = 7
	}
	run.Ended = nil
	s = summary.Of(run, trials)
	has(t, strings.Join(s.Notes, "\n"), "Incomplete")
	if len(s.Squares) != 0 || len(s.Comparisons) == 0 {
		t.Errorf("%d situations of the 2×2 in other cells, and %d comparisons", len(s.Squares), len(s.Comparisons))
	}
}

// TestVoid: a run whose controls were not caught answers nothing.
func TestVoid(t *testing.T) {
	run, trials := madeUp()
	trials = slices.DeleteFunc(trials, func(tr results.Trial) bool { return tr.Arm == "shared-manager" })
	s := summary.Of(run, trials)
	has(t, s.Void, "shared-manager was not measured")
	for _, a := range s.Answers {
		has(t, a.Text, "No answer: the run is void.")
	}
	for _, square := range s.Squares {
		has(t, square.Answer[0], "No answer: the run is void.")
	}
	if s = summary.Of(results.Run{}, nil); !strings.Contains(s.Void, "no negative control was planned") {
		t.Errorf("of nothing: %q", s.Void)
	}
}
