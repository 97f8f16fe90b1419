package summary

import (
	"math"
	"testing"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// threeTrials of one arm, with figures that can be reckoned by hand.
func threeTrials(t *testing.T) (results.Run, []results.Trial) {
	t.Helper()
	cell := compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{
		Writers: 2, Objects: 1, Managers: 2, Warmup: time.Second, Duration: 2 * time.Second,
	}}
	h := results.NewHistogram()
	for range 100 {
		if err := h.RecordValue(1000); err != nil {
			t.Fatal(err)
		}
	}
	histogram, err := results.EncodeHistogram(h)
	if err != nil {
		t.Fatal(err)
	}
	var trials []results.Trial
	for block, landed := range []int{100, 200, 300} {
		cpu, updates := 0.3*float64(block+1), float64(2*landed)
		trials = append(trials, results.Trial{
			ID: string(rune('a' + block)), Cell: cell, Arm: "ssa", Block: block, Measured: 2 * time.Second,
			Timed: results.Counts{Intents: landed, Landed: landed}, All: results.Counts{Intents: landed + 100, Landed: landed, GaveUp: 100},
			Latency:   results.Latency{Histogram: histogram, NotLanded: 2},
			PerWriter: []int{landed, 0},
			Client: results.Client{
				Requests:    map[string]results.Requests{"PATCH 200": {Count: landed}, "PATCH 409": {Count: 3 * landed}},
				StaleWrites: 2, Conflicts: 1, BytesUp: int64(10 * landed), Own: time.Second, Busy: 3 * time.Second,
			},
			Server: results.Server{APIServerCPU: &cpu, Updates: &updates, Revisions: landed},
			Oracle: results.Oracle{Acknowledged: landed, Found: landed, Lost: block},
		})
	}
	run := results.Run{Schema: results.Schema, Plan: []results.PlannedCell{{Cell: cell, Arms: []string{"ssa", "gmu"}, Blocks: 4}}}
	return run, trials
}

func TestCell(t *testing.T) {
	run, trials := threeTrials(t)
	trials[2].Oracle.Found = 270 // a tenth was not found: 135 a second are left of 150
	void := trials[0]
	void.ID, void.Void, void.Timed.Landed = "d", "the API server died", 1e6
	r := Of(run, append(trials, void))
	if len(r.Cells) != 1 {
		t.Fatalf("%d cells: gmu was planned, not measured", len(r.Cells))
	}
	c := r.Cells[0]
	one := func(x *float64) float64 {
		if x == nil {
			return math.NaN()
		}
		return *x
	}
	for name, pair := range map[string][2]float64{
		"trials": {float64(c.Trials), 3}, "void": {float64(c.Void), 1}, "goodput": {c.Goodput.Mean, (50 + 100 + 135) / 3.0},
		"intents": {float64(c.Intents), 900}, "give-ups": {float64(c.GiveUps), 300}, "give-up share": {one(c.GiveUpShare), 1.0 / 3},
		"lost": {float64(c.LostUpdates), 1 + 2 + 30}, "stale": {float64(c.StaleWrites), 6}, "conflicts": {float64(c.Conflicts), 3},
		"requests": {one(c.RequestsPerIntent), 4}, "409": {c.Verbs["PATCH 409"], 3}, "attempts": {one(c.ServerAttempts), 2},
		"failed": {one(c.FailedTransactions), 1}, "cpu": {c.APIServerCPU.Mean, 3}, "bytes": {one(c.BytesUp), 10},
		"fairness": {one(c.Fairness), 0.5}, "generator": {one(c.GeneratorShare), 0.25}, "p50": {one(c.Latency.P50), 1},
	} {
		if math.Abs(pair[0]-pair[1]) > 0.002*math.Abs(pair[1]) || math.IsNaN(pair[0]) {
			t.Errorf("%s: %g, want %g", name, pair[0], pair[1])
		}
	}
	if c.Latency.P99 != nil {
		t.Error("2 of 102 did not land: there is no p99")
	}
	if c.EtcdCPU != nil || c.APIServerAllocs != nil || c.RequestMs != nil || c.ObjectBytes != nil || c.ManagedFields != nil {
		t.Error("what the cluster does not show has a value")
	}
	if r.Run.Trials != 4 || r.Run.VoidTrials != 1 || r.Run.Planned != 8 {
		t.Errorf("%+v", r.Run)
	}
}

// One trial without a value leaves the arm without it: the mean of the others would be of other blocks.
func TestMissingInOneTrial(t *testing.T) {
	run, trials := threeTrials(t)
	trials[1].Server.APIServerCPU = nil
	if c := Of(run, trials).Cells[0]; c.APIServerCPU != nil || c.ServerAttempts == nil {
		t.Errorf("CPU %v, attempts %v", c.APIServerCPU, c.ServerAttempts)
	}
}

func TestNothingLanded(t *testing.T) {
	run, trials := threeTrials(t)
	for i := range trials {
		trials[i].Timed.Landed, trials[i].All.Landed, trials[i].Oracle = 0, 0, results.Oracle{}
		trials[i].PerWriter = []int{0, 0}
	}
	c := Of(run, trials).Cells[0]
	if c.Goodput == nil || c.Goodput.Mean != 0 || c.RequestsPerIntent != nil || c.Fairness != nil || c.LostUpper != nil {
		t.Errorf("%+v", c)
	}
}

// Controllers write to nodes as well: the server's count is not of the arm then.
func TestOthersWrite(t *testing.T) {
	run, trials := threeTrials(t)
	trials[1].Server.Revisions = trials[1].Oracle.Acknowledged + 1
	if c := Of(run, trials).Cells[0]; c.ServerAttempts != nil || c.FailedTransactions != nil {
		t.Errorf("attempts %v, failed transactions %v", c.ServerAttempts, c.FailedTransactions)
	}
}
