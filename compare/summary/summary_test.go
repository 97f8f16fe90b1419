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
	has(t, answer(t, s, "lost"), "Apart from these workloads nothing is lost: there, `apply` lost nothing in ", "Lost because of the way of writing: ", "`gmu-replace` (devbox-status)", "`apply` (increment)", "`gmu-default-retry` up to ")
	has(t, answer(t, s, "avoid"), "`ssa` lost 30 % of its", "sends 1.00 requests per reconcile")
	has(t, answer(t, s, "coapply"), "`apply` against plain Server-Side Apply: more writes land in ", "`update` against DefaultRetry: more writes land in ")
	for _, a := range s.Answers {
		if words := len(strings.Fields(a.Text)); words > 90 {
			t.Errorf("%s has %d words", a.Name, words)
		}
	}
	for _, c := range s.Checks {
		if c.State == "failed" {
			t.Errorf("%s failed: %s", c.Name, c.Seen)
		}
	}
}

// TestSquare: each situation of decided.yaml has the results of its cells, and an answer that follows from the verdicts.
func TestSquare(t *testing.T) {
	run, trials := madeUp()
	s := summary.Of(run, trials)
	if len(s.Squares) != len(decided.Now.Square.Situations) {
		t.Fatalf("%d situations", len(s.Squares))
	}
	for i, square := range s.Squares {
		if want := decided.Now.Square.Situations[i]; square.Situation != want.Name || len(square.Rows) != len(want.Cells) {
			t.Errorf("%+v, want %+v", square, want)
		}
	}
	apart, together := s.Squares[0], s.Squares[1]
	has(t, strings.Join(apart.Answer, " "), "Without turns: Server-Side Apply lands more writes at ", "With turns: ", "a write by Server-Side Apply costs the API server less CPU")
	has(t, strings.Join(together.Answer, " "), "Server-Side Apply with turns against without: more writes land at ", "get-modify-update with turns against without: more writes land at ")
	if c := together.Rows[0].Goodput[1]; c.Arm != "ssa-lanes" || c.Against != "gmu-lanes" || c.Blocks != blocks || c.Ratio < 1 {
		t.Errorf("%+v", c)
	}
	// Slower by half with turns, and that is said.
	for i := range trials {
		if trials[i].Arm == "ssa-lanes" && trials[i].Processes == 1 && trials[i].Objects == 1 {
			trials[i].Timed.Landed /= 2
		}
	}
	has(t, summary.Of(run, trials).Squares[1].Answer[1], "With turns: get-modify-update lands more writes at every round-trip time (0.5")
}

// TestRepeated: a verdict is what both runs say.
func TestRepeated(t *testing.T) {
	run, trials := madeUp()
	again := summary.Of(run, trials)
	better := func(s summary.Summary) summary.Comparison {
		c, found := s.Of(summary.TurnsSSA, "hot-object w4 m4", "goodput_per_s")
		if !found || c.Again == nil {
			t.Fatalf("%+v", c)
		}
		return c
	}
	if c := better(summary.Repeated(run, trials, again)); c.Verdict != statistics.Better || c.Again.Ratio != c.Ratio {
		t.Errorf("the same run twice: %+v", c)
	}
	for i := range again.Comparisons {
		again.Comparisons[i].Verdict = statistics.Equivalent
	}
	if c := better(summary.Repeated(run, trials, again)); c.Verdict != statistics.Undecided {
		t.Errorf("another verdict in the second run: %+v", c)
	}
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
		i := slices.IndexFunc(s.Comparisons, func(c summary.Comparison) bool { return c.Cell == "hot-object w16 m4" && c.Arm == "apply" })
		if c := s.Comparisons[i]; c.Verdict != statistics.NoVerdict || !strings.Contains(c.Why, want) {
			t.Errorf("%s: %+v", want, c)
		}
	}
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
	if counts["run"] != 1 || counts["answer"] != 3 || counts["square"] != 3 || counts["row"] != len(s.Rows) || counts["check"] != len(s.Checks) {
		t.Errorf("%v", counts)
	}
}
