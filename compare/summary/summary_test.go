package summary_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
	"coapply.dev/compare/summary/summarytest"
)

// blocks of the run that is made up.
const blocks = 8

var once = sync.OnceValues(func() (results.Run, []results.Trial) { return summarytest.Run(blocks) })

// madeUp returns it to be changed.
func madeUp() (results.Run, []results.Trial) {
	run, trials := once()
	run.Plan = slices.Clone(run.Plan)
	return run, slices.Clone(trials)
}

func answer(t *testing.T, s summary.Summary, name string) string {
	t.Helper()
	i := slices.IndexFunc(s.Answers, func(a summary.Answer) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no answer %s", name)
	}
	return s.Answers[i].Text
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}

func check(t *testing.T, s summary.Summary, name string) summary.Check {
	t.Helper()
	i := slices.IndexFunc(s.Checks, func(c summary.Check) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check %s", name)
	}
	return s.Checks[i]
}

// TestAnswers are of the run that is made up.
func TestAnswers(t *testing.T) {
	run, trials := madeUp()
	s := summary.Of(run, trials)
	if s.Void != "" || len(s.Notes) > 0 {
		t.Fatalf("void %q, notes %q", s.Void, s.Notes)
	}
	has(t, answer(t, s, "fastest"), "Against `ssa`, `apply` lands more in ", "64 writers", "The fastest of all in ")
	has(t, answer(t, s, "cost"), "costs less CPU a write in ", "cheapest of all")
	has(t, answer(t, s, "lost"), "Nothing else is lost: `apply` lost nothing in ", "Lost because of the way of writing: ", "`gmu-replace` (devbox-status)", "`apply` (increment)", "`gmu-default-retry` up to ")
	has(t, answer(t, s, "avoid"), "`ssa` lost 30 % of its", "slower than the best get-modify-update", "sends 1.00 requests per reconcile")
	for _, a := range s.Answers {
		if words := len(strings.Fields(a.Text)); words > 75 {
			t.Errorf("%s has %d words", a.Name, words)
		}
	}
	for _, c := range s.Checks {
		if c.State == "failed" {
			t.Errorf("%s failed: %s", c.Name, c.Seen)
		}
	}
}

// TestOursAgainstPlain: the first comparison is that of our arm with plain Server-Side Apply, in every primary cell, won or
// lost.
func TestOursAgainstPlain(t *testing.T) {
	run, trials := madeUp()
	cells := map[string]statistics.Verdict{}
	for _, c := range summary.Of(run, trials).Comparisons {
		if c.Family == "ours" && c.Measure == "goodput_per_s" {
			cells[c.Cell] = c.Verdict
		}
	}
	for _, name := range decided.Now.Primary {
		planned := slices.ContainsFunc(run.Plan, func(p results.PlannedCell) bool { return p.String() == name && !p.Control })
		if _, compared := cells[name]; compared != planned {
			t.Errorf("%s: compared %v, planned %v", name, compared, planned)
		}
	}
	if cells["hot-object w64 m4"] != statistics.Better || cells["hot-object w1 m4"] == statistics.Better {
		t.Errorf("%v", cells)
	}
	// Slower by a third everywhere, and that is said.
	for i := range trials {
		if trials[i].Arm == "apply" && trials[i].Workload == "hot-object" && trials[i].Writers == 1 {
			trials[i].Timed.Landed = trials[i].Timed.Landed * 2 / 3
		}
	}
	has(t, answer(t, summary.Of(run, trials), "fastest"), "fewer in 2 cells (down to 0.6")
}

// TestWinners: who is ahead by a hair is not named.
func TestWinners(t *testing.T) {
	run, trials := madeUp()
	landed := map[int]int{}
	for _, tr := range trials {
		if tr.Arm == "apply" && tr.Cell.String() == "hot-object w4 m4" {
			landed[tr.Block] = tr.Timed.Landed
		}
	}
	for i := range trials { // ssa-lanes is apply but for one in a hundred
		if tr := &trials[i]; tr.Arm == "ssa-lanes" && tr.Cell.String() == "hot-object w4 m4" {
			tr.Timed.Landed = landed[tr.Block] * (100 - tr.Block%2) / 100
		}
	}
	s := summary.Of(run, trials)
	c := contest(t, s, "hot-object w4 m4")
	if c.Winner != "" || !slices.Contains(c.Shared, "apply") || !slices.Contains(c.Shared, "ssa-lanes") {
		t.Errorf("%+v", c)
	}
	for i := range trials {
		if tr := &trials[i]; tr.Arm == "ssa-lanes" && tr.Cell.String() == "hot-object w4 m4" {
			tr.Timed.Landed *= 2
		}
	}
	if c = contest(t, summary.Of(run, trials), "hot-object w4 m4"); c.Winner != "ssa-lanes" || c.Ratio < 1.9 {
		t.Errorf("%+v", c)
	}
	if c.Out["gmu-default-retry"] == "" || slices.Contains(c.Arms, "gmu-default-retry") {
		t.Errorf("an arm that gives up takes part: %+v", c)
	}
}

func contest(t *testing.T, s summary.Summary, cell string) summary.Contest {
	t.Helper()
	for _, c := range s.Contests {
		if c.Cell == cell && c.Measure == "goodput_per_s" {
			return c
		}
	}
	t.Fatalf("no contest in %s", cell)
	return summary.Contest{}
}

// TestNoVerdict: where the load generator was measured, too few trials count, updates were lost or the run is void.
func TestNoVerdict(t *testing.T) {
	for want, change := range map[string]func(*results.Trial){
		"apply: the load generator is the bottleneck, in 8 of 8 trials": func(tr *results.Trial) { tr.Load.Bottleneck = "generator" },
		"the load generator is the bottleneck: its own code took 50 %":  func(tr *results.Trial) { tr.Client.Own = tr.Client.Busy },
		"apply: too few valid trials: 5 trials, but a verdict needs 6": func(tr *results.Trial) {
			if tr.Block >= 5 {
				tr.Void = "a gap"
			}
		},
		"apply: no trial counts: a gap": func(tr *results.Trial) { tr.Void = "a gap" },
	} {
		run, trials := madeUp()
		for i := range trials {
			if trials[i].Arm == "apply" && trials[i].Cell.String() == "hot-object w16 m4" {
				change(&trials[i])
			}
		}
		s := summary.Of(run, trials)
		if strings.Contains(want, "no trial counts") { // it takes no part at all then
			continue
		}
		if c := contest(t, s, "hot-object w16 m4"); c.Winner != "" || !strings.Contains(c.Why, want) {
			t.Errorf("%s: %+v", want, c)
		}
		i := slices.IndexFunc(s.Comparisons, func(c summary.Comparison) bool { return c.Cell == "hot-object w16 m4" })
		if c := s.Comparisons[i]; c.Verdict != statistics.NoVerdict || !strings.Contains(c.Why, want) {
			t.Errorf("%s: %+v", want, c)
		}
	}
}

// TestSituations have the arm of a cell, by what was decided to look at.
func TestSituations(t *testing.T) {
	run, trials := madeUp()
	s := summary.Of(run, trials)
	by := map[string]summary.Situation{}
	for _, one := range s.Situations {
		by[one.Cell] = one
	}
	if quiet := by["steady-state w4 m4"]; !slices.Contains(quiet.Use, "apply") || !slices.Contains(quiet.Use, "gmu-requeue") || slices.Contains(quiet.Use, "ssa") {
		t.Errorf("%+v", quiet)
	}
	counter := by["increment w8 m1"]
	if slices.Contains(counter.Use, "apply") {
		t.Errorf("%+v", counter)
	}
	has(t, counter.Because, "`apply` and `ssa` lost updates")
}

// TestSystems: a published figure beside what was measured, and what kind it is.
func TestSystems(t *testing.T) {
	run, trials := madeUp()
	var all []string
	for _, one := range summary.Of(run, trials).Systems {
		all = append(all, strings.Join([]string{one.Workload, one.Claimed, one.Measured, one.Kind}, " | "))
	}
	text := strings.Join(all, "\n")
	has(t, text, "ten-reconcilers | 90 % given up | 8", "| demonstration", "ten-reconcilers | 3.5 requests | ", "ten-reconcilers | 50 ms | ",
		"devbox-status | 1.115× | ", "× [", "| measurement", " writes")
}

// TestJSONLines: each line is one thing, and says which.
func TestJSONLines(t *testing.T) {
	run, trials := madeUp()
	s := summary.Of(run, trials)
	data, err := s.JSONLines()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var one map[string]map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil || len(one) != 1 {
			t.Fatalf("%v: %s", err, line)
		}
		for key := range one {
			counts[key]++
		}
	}
	if counts["run"] != 1 || counts["answer"] != 4 || counts["row"] != len(s.Rows) || counts["check"] != len(s.Checks) {
		t.Errorf("%v", counts)
	}
}
