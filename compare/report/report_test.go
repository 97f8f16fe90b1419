package report_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"coapply.dev/compare"
	"coapply.dev/compare/report"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

// TestSample renders a run of the size of a review.
func TestSample(t *testing.T) {
	run, trials, err := results.Load("../results/testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	r := summary.Of(run, trials)
	html := page(t, run, trials, r)
	for _, cell := range r.Cells {
		has(t, html, cell.Cell().String())
	}
	if charts := strings.Count(html, `<svg class="chart"`); charts < len(run.Plan) {
		t.Errorf("%d charts of %d cells", charts, len(run.Plan))
	}
	has(t, markdown(t, run, trials, r), "## Correctness")
}

// TestNothing: a run without anything has a report, which says n/a.
func TestNothing(t *testing.T) {
	html := page(t, results.Run{}, nil, results.Results{})
	has(t, html, "n/a: no trial counts.", "<dt>Run</dt><dd>n/a</dd>", "The run has no end.", "n/a: there are not the cells that it needs.", "None was compared.")
	has(t, markdown(t, results.Run{}, nil, results.Results{}), "None: n/a")
}

// TestNil: what was not measured is n/a everywhere, and nowhere 0.
func TestNil(t *testing.T) {
	run, _, _ := fixture(t)
	r := results.Results{Cells: []results.Result{{Workload: "hot-object", Arm: "gmu", Writers: 4, Objects: 1, Managers: 4}, {Workload: "w", Arm: "new"}}}
	r.Model = &results.Model{Why: "too few cells"}
	html := page(t, run, nil, r)
	has(t, html, `<td class="number">n/a &#43; n/a</td>`, "Not measured (n/a): API server CPU ms, etcd CPU ms", "No extrapolation is shown", "too few cells", "n/a: there is nothing to draw.")
	hasNot(t, html, `<td class="number">0.00</td>`, "NaN", "%!")
	has(t, markdown(t, run, nil, r), "| hot-object w4 m4 | gmu | n/a | n/a | n/a | n/a | n/a | 0 | n/a | the baseline |")
}

// TestBanners: a void or interrupted run, a failed check say so above everything else.
func TestBanners(t *testing.T) {
	run, trials, r := fixture(t)
	hasNot(t, page(t, run, trials, r), `role="alert"`)
	r.Void = "the control put-no-rv was not caught"
	run.Interrupted = "signal: interrupt"
	r.Checks[0].State, r.Checks[0].Result = "failed", "fsync is off"
	html := page(t, run, trials, r)
	has(t, html, "This run is void: nothing of it counts.</strong> the control put-no-rv was not caught",
		"The run was interrupted.</strong> signal: interrupt — what was measured until then is below: 7 of 8 planned, 1 of them void.",
		"A check failed: fsync.</strong> Threat: "+r.Checks[0].Threat+". Seen: fsync is off")
	if strings.Index(html, `role="alert"`) > strings.Index(html, `id="verdict"`) {
		t.Error("the banner is below the verdict")
	}
	has(t, markdown(t, run, trials, r), "> **This run is void: nothing of it counts.** the control put-no-rv was not caught")
}

// TestCorrectness: who lost what is said of ordinary arms, and of controls that it must be so; trials that are void are
// shown and not counted.
func TestCorrectness(t *testing.T) {
	run, trials, r := fixture(t)
	r.Rivals = []results.Comparison{
		{Cell: "hot-object w4 m4", Arm: "apply", Baseline: "gmu-lanes", Measure: "goodput", Blocks: 10, Ratio: 0.5, Lo: 0.4, Hi: 0.6, Adjusted: 0.004, Word: "slower"},
		{Cell: "hot-object w4 m4", Arm: "apply", Baseline: "gmu-unbounded", Measure: "goodput", Blocks: 10, Ratio: 2, Lo: 1.9, Hi: 2.1, Word: "faster"},
	}
	text := markdown(t, run, trials, r)
	hasNot(t, text, "| apply | gmu-unbounded |")
	has(t, text,
		"| hot-object w4 m4 | apply | gmu-lanes | goodput | × 0.500 | [0.400, 0.600] | 0.004 | 10 |",
		"| gmu | 2 | 40 | 40 | 0 | 0 | 0 | 0 | 0 | 40 | nothing lost |",
		"| ssa | 3 | 150 | 150 | 0 | 3 | 0 | 0 | 0 | 0 | lost updates in increment |",
		"| put-no-rv | 1 | 40 | 40 | 9 | 0 | 0 | 0 | 0 | 0 | control: caught, as it must be |",
		"| 000-increment-ssa | lost-increment | ConfigMap/n/a | count | 12345 | 1 | not known | 4 | absent |",
		"| 006-void | gmu | the watch missed revision 17 |",
		"| hot-object w4 m4 | ssa | gmu | CPU of the API server | × 1.50 | [1.40, 1.60] | 0.002 | 10 |")
	trials[5].Oracle.Lost = 0
	has(t, markdown(t, run, trials, r), "| control: not caught |")
}

// TestMaps: an arm that lost updates is not ahead, and what was not shown is hatched.
func TestMaps(t *testing.T) {
	run, trials, r := fixture(t)
	hatched := func() int { return strings.Count(page(t, run, trials, r), `<rect class="over" x="`) }
	before := hatched() // of the two cells, the one without a verdict; in two maps; and the bars of failed transactions
	r.Comparisons[0].Word = "no difference shown"
	if after := hatched(); after != before+2 {
		t.Errorf("%d hatched tiles, then %d", before, after)
	}
	r.Comparisons[0].Word = "faster"
	has(t, page(t, run, trials, r), `<th scope="row">4 writers</th><td class="number">4</td><td>ssa</td><td>× 2.00</td><td>faster</td>`)
	r.Cells[1].LostUpdates = 1
	html := page(t, run, trials, r)
	hasNot(t, html, `<td>ssa</td><td>× 2.00</td>`)
	has(t, html, `<td>gmu</td><td>× 1.00</td><td>others slower or lossy</td>`)
	r.Cells[0].LostUpdates = 1
	has(t, page(t, run, trials, r), `<td class="number">4</td><td>n/a</td><td>n/a</td><td>no verdict</td>`)
	has(t, html, ">lost updates</text>")
}

// TestHostile puts into every place of the data what a report must show as text.
func TestHostile(t *testing.T) {
	const evil = "<script>alert(1)</script>\"' onmouseover=x </style></svg>{{.}}\x1b[31m\x00\u202e|`[x](javascript:y)"
	cell := compare.Cell{Workload: evil, Parameters: compare.Parameters{Writers: 1, Managers: 1}}
	run := results.Run{
		Command: evil, Interrupted: evil, Profile: evil, Plan: []results.PlannedCell{{Cell: cell, Arms: []string{evil}, Baseline: evil, AA: evil}},
		Arms: []results.ArmInfo{{Name: evil, Summary: evil, Source: evil}}, Workloads: []results.WorkloadInfo{{Name: evil, Summary: evil, Object: evil}},
		Environment: results.Environment{Commit: evil, CPU: evil, Cores: 1, Modules: map[string]string{evil: evil}, APIServerFlags: map[string]string{evil: evil}, EtcdFlags: []string{evil}, Groups: []string{evil}},
	}
	r := results.Results{
		Void: evil, Verdict: []string{evil}, Checks: []results.Check{{Name: evil, Threat: evil, Guard: evil, Result: evil, State: "failed"}},
		Cells:       []results.Result{{Workload: evil, Arm: evil, Writers: 1, Managers: 1, NoVerdict: evil, Verbs: map[string]float64{evil: 1}, Extra: results.Numbers{evil: 1}}},
		Comparisons: []results.Comparison{{Cell: evil, Arm: evil, Baseline: evil, Measure: evil, Word: evil, Why: evil, Ratio: 1}},
		Hypotheses:  []results.Hypothesis{{Name: evil, Text: evil, Measured: evil, State: evil}},
		Claims:      []results.ClaimCheck{{Workload: evil, Text: evil, Measured: evil, Contradiction: evil}},
		Model: &results.Model{Parameters: map[string]results.Numbers{evil: {evil: 1}}, Why: evil, Accepted: true,
			Extrapolation: []results.ModelPoint{{Arm: evil, Writers: 1, Goodput: 1}, {Arm: evil, Writers: 9, Goodput: 1}}},
	}
	bad := trial(t, cell, evil, 3, 1)
	bad.Oracle.Violations = []results.Violation{{Kind: evil, Object: evil, Field: evil, Before: evil, After: evil}}
	void := bad
	void.Void = strings.Repeat(evil, 1000)
	html := page(t, run, []results.Trial{bad, void}, r)
	hasNot(t, html, "<script", "\x1b", "\x00", "\u202e")
	has(t, html, "more characters)")
	text := markdown(t, run, []results.Trial{bad, void}, r)
	text = regexp.MustCompile(`(?m)^ {4}.*$`).ReplaceAllString(text, "") // code
	hasNot(t, text, "<script>", "\x1b", "\x00", "\u202e", "](javascript", "</style>")
}

// TestNumbersThatAreNone: data made by hand may hold what no trial measures.
func TestNumbersThatAreNone(t *testing.T) {
	run, trials, r := fixture(t)
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, math.MaxFloat64} {
		for i := range r.Cells {
			r.Cells[i].Goodput = &results.Interval{Mean: v, Lo: &v, Hi: &v}
			r.Cells[i].RequestsPerIntent, r.Cells[i].GiveUpShare = &v, &v
		}
		for i := range r.Comparisons {
			r.Comparisons[i].Ratio, r.Comparisons[i].Lo, r.Comparisons[i].Hi = v, v, v
		}
		for i := range r.Model.Extrapolation {
			r.Model.Extrapolation[i].Goodput, r.Model.Extrapolation[i].RTTms = v, v
		}
		r.Model.Fitted[0].BandLo, r.Model.Fitted[0].BandHi, r.Model.Fitted[0].Measured = v, v, v
		r.Run.Margin = v
		hasNot(t, page(t, run, trials, r), "NaN", "+Inf", "%!")
	}
}

// TestMany: a page of very many cells stays a page, and says what it leaves out.
func TestMany(t *testing.T) {
	r := results.Results{}
	for i := range 300 {
		r.Cells = append(r.Cells, result(compare.Cell{Workload: "w", Parameters: compare.Parameters{Writers: 1 + i, Managers: 1}}, "ssa", 1))
	}
	has(t, page(t, results.Run{}, nil, r), "260 more cells: in the tables of the appendix.", "w w300 m1, ssa")
}

// TestUnreadable: a latency that cannot be read is an error that names the arm and the cell.
func TestUnreadable(t *testing.T) {
	run, trials, r := fixture(t)
	trials[1].Latency.Histogram = "!"
	_, err := report.HTML(run, trials, r)
	if err == nil || !strings.Contains(fmt.Sprint(err), "report: ssa in hot-object w4 m4: latency 1") {
		t.Errorf("%v", err)
	}
}
