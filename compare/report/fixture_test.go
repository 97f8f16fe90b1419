package report_test

import (
	"testing"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

var (
	grid   = compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{Writers: 4, Objects: 1, Managers: 4}}
	more   = compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{Writers: 16, Objects: 1, Managers: 4}}
	open   = compare.Cell{Workload: "increment", Parameters: compare.Parameters{Writers: 2, Objects: 3, Managers: 2, Rate: 50, RTT: 5 * time.Millisecond}}
	begun  = time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	second = time.Second
)

// fixture is a small run in which everything that a report shows is there.
func fixture(t *testing.T) (results.Run, []results.Trial, results.Results) {
	t.Helper()
	ended := begun.Add(3 * time.Minute)
	fsync := 1200 * time.Microsecond
	run := results.Run{
		Schema: results.Schema, Command: "compare run --review --seed 7", Seed: 7, Started: begun, Ended: &ended, Profile: "review", Margin: 0.05,
		Plan: []results.PlannedCell{
			{Cell: timed(grid), Arms: []string{"gmu", "ssa"}, Blocks: 2, Baseline: "gmu", AA: "gmu"},
			{Cell: timed(more), Arms: []string{"gmu", "ssa"}, Blocks: 2, Baseline: "gmu"},
			{Cell: timed(open), Arms: []string{"ssa"}, Blocks: 1, Baseline: "gmu"},
			{Cell: timed(grid), Arms: []string{"put-no-rv"}, Blocks: 1, Control: true},
		},
		Environment: results.Environment{
			Commit: "0123abc", Go: "go1.26.8", Server: "v1.36.3", Etcd: "3.6.5", EtcdFsync: "on", FsyncP50: &fsync, Cores: 2, GOMAXPROCS: 2,
			QPS: -1, Modules: map[string]string{"b": "v2", "a": "v1"}, APIServerFlags: map[string]string{"z": "1", "y": "2"}, EtcdFlags: []string{"--unsafe-no-fsync=false"},
		},
		Arms: []results.ArmInfo{
			{Name: "gmu", Summary: "Get, modify, update.", Source: "func gmu() {\n\treturn\n}"},
			{Name: "ssa", Summary: "Server-Side Apply."},
			{Name: "put-no-rv", Summary: "Without resourceVersion.", Control: true},
		},
		Workloads: []results.WorkloadInfo{{Name: "hot-object", Summary: "One object.", Object: "kind: ConfigMap"}, {Name: "increment", Summary: "Counters."}},
	}
	trials := []results.Trial{
		trial(t, grid, "gmu", 30, 10), trial(t, grid, "ssa", 60, 0), trial(t, more, "gmu", 10, 30), trial(t, more, "ssa", 70, 0),
		trial(t, open, "ssa", 20, 0), trial(t, grid, "put-no-rv", 40, 0), trial(t, grid, "gmu", 5, 0),
	}
	trials[4].Oracle.LostIncrements = 3
	trials[4].Oracle.Violations = []results.Violation{{Kind: "lost-increment", Object: "ConfigMap/n/a", Field: "count", Revision: 12345, Writer: 1, By: -1, Before: "4", After: ""}}
	trials[5].Oracle.Lost = 9
	trials[6].Void, trials[6].ID = "the watch missed revision 17", "006-void"
	return run, trials, reckoned(run)
}

func timed(cell compare.Cell) compare.Cell {
	cell.Warmup, cell.Duration = 300*time.Millisecond, second
	return cell
}

func trial(t *testing.T, cell compare.Cell, arm string, landed, gaveUp int) results.Trial {
	t.Helper()
	h := results.NewHistogram()
	for i := range landed {
		if err := h.RecordValue(int64(1000 * (i + 1))); err != nil {
			t.Fatal(err)
		}
	}
	encoded, err := results.EncodeHistogram(h)
	if err != nil {
		t.Fatal(err)
	}
	counts := results.Counts{Intents: landed + gaveUp, Landed: landed, GaveUp: gaveUp}
	latency := results.Latency{Histogram: encoded, NotLanded: gaveUp}
	return results.Trial{
		ID: "000-" + cell.Workload + "-" + arm, Cell: timed(cell), Arm: arm, Started: begun, Timed: counts, All: counts, Latency: latency, Service: latency,
		Oracle: results.Oracle{Acknowledged: landed, Found: landed}, Client: results.Client{Connections: cell.Writers, Protocol: "HTTP/2.0"},
	}
}

func reckoned(run results.Run) results.Results {
	return results.Results{
		Schema: results.Schema,
		Run:    results.RunInfo{Command: run.Command, Seed: run.Seed, Profile: run.Profile, Margin: run.Margin, Trials: 7, Planned: 8, VoidTrials: 1},
		Checks: []results.Check{{Name: "fsync", Threat: "no fsync", Guard: "flags are read back", Result: "on", State: "passed"}, {Name: "metrics", State: "n/a"}},
		Cells: []results.Result{
			result(grid, "gmu", 30), result(grid, "ssa", 60), again(), result(more, "gmu", 10), result(more, "ssa", 70), lossy(), control(),
		},
		Comparisons: []results.Comparison{
			{Cell: grid.String(), Arm: "ssa", Baseline: "gmu", Measure: "goodput", Blocks: 10, Ratio: 2, Lo: 1.8, Hi: 2.2, P: .002, Adjusted: .004, Word: "faster"},
			{Cell: grid.String(), Arm: "gmu", Baseline: "gmu", AA: true, Measure: "goodput", Blocks: 10, Ratio: 1.01, Lo: .98, Hi: 1.04, P: .5, Adjusted: .5, Word: "equivalent"},
			{Cell: more.String(), Arm: "ssa", Baseline: "gmu", Measure: "goodput", Blocks: 1, Word: "no verdict", Why: "one block"},
			{Cell: grid.String(), Arm: "ssa", Baseline: "gmu", Measure: "apiserver_cpu", Blocks: 10, Ratio: 1.5, Lo: 1.4, Hi: 1.6, P: .002, Adjusted: .002, Word: "slower"},
		},
		Hypotheses: []results.Hypothesis{{Name: "H1", Text: "It is so.", Measured: "it is", State: "holds"}, {Name: "H2", Text: "It is not.", State: "not tested"}},
		Claims:     []results.ClaimCheck{{Workload: "hot-object", Text: "Ten times less", Measured: "two times", Contradiction: "says five elsewhere"}},
		Model:      fitted(),
		Verdict:    []string{"First line.", "Second line."},
	}
}

func result(cell compare.Cell, arm string, goodput float64) results.Result {
	return results.Result{
		Workload: cell.Workload, Arm: arm, Writers: cell.Writers, Objects: cell.Objects, Managers: cell.Managers, Rate: cell.Rate,
		RTTms: float64(cell.RTT) / 1e6, Trials: 2, Goodput: &results.Interval{Mean: goodput, Lo: new(goodput - 2), Hi: new(goodput + 2)},
		Latency: results.Percentiles{P50: new(12.5), Max: new(30.0)}, Intents: 40, Acknowledged: 30, GiveUps: 10, GiveUpShare: new(0.25),
		RequestsPerIntent: new(2.5), FailedTransactions: new(0.5), APIServerCPU: &results.Interval{Mean: 1.5},
		Verbs: map[string]float64{"PUT 409": 0.5, "PUT 200": 1, "GET 200": 1}, Extra: results.Numbers{"duplicates": 1},
	}
}

func again() results.Result {
	r := result(grid, "gmu", 31)
	r.AA = true
	return r
}

func lossy() results.Result {
	r := result(open, "ssa", 20)
	r.LostUpdates, r.NoVerdict = 3, "too few trials"
	return r
}

func control() results.Result {
	r := result(grid, "put-no-rv", 40)
	r.Control, r.LostUpdates = true, 9
	return r
}

func fitted() *results.Model {
	point := results.ModelPoint{Arm: "gmu", Writers: 4, Goodput: 33, BandLo: 20, BandHi: 50, Stale: .3, GiveUps: .2}
	far := point
	far.Writers, far.RTTms = 1000, 20
	return &results.Model{
		Parameters:  map[string]results.Numbers{"ssa": {"w": 3}, "gmu": {"w": 2, "a": 1}},
		Fitted:      []results.ModelCell{{ModelPoint: point, Managers: 4, Measured: 30, Error: .1}},
		Checked:     []results.ModelCell{{ModelPoint: point, Managers: 4, Measured: 30, Error: -.1}},
		MedianError: new(0.1), WorstError: new(0.1), Accepted: true, Extrapolation: []results.ModelPoint{point, far},
		Arms:                 map[string]results.ModelArm{"gmu": {MedianError: new(0.1), WorstError: new(0.1), Accepted: true}, "ssa": {Why: "it was not checked"}},
		ExtrapolatedManagers: 4, Why: "no extrapolation of ssa: it was not checked",
	}
}
