// Package summarytest makes up runs for tests. Nothing is measured: the values resemble the results of a machine with
// two cores, and they are the same each time.
package summarytest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// Seed is the seed of the made-up run.
const Seed = 42

// started is the time at which the made-up run began.
var started = time.Date(2026, time.November, 2, 9, 0, 0, 0, time.UTC)

// Run returns a made-up run with the profile "review" and the given number of blocks.
func Run(blocks int) (results.Run, []results.Trial) {
	ended := started.Add(15 * time.Minute)
	run := results.Run{
		Schema: results.Schema, Command: fmt.Sprintf("compare run --profile review --seed %d -o DIR", Seed), Seed: Seed,
		Started: started, Ended: &ended, Profile: "review", Plan: plan(blocks), Decided: decided.Hash(),
		Environment: environment(), Workloads: workloads(),
	}
	var trials []results.Trial
	for block := range blocks {
		// An influence that all arms of a block have in common, such as a noisy neighbour.
		shared := math.Exp(0.05 * rand.New(rand.NewPCG(Seed, uint64(block))).NormFloat64())
		for _, cell := range run.Plan {
			if block >= cell.Blocks {
				continue
			}
			for _, arm := range cell.Arms {
				trials = append(trials, trial(cell, arm, false, block, len(trials), shared))
			}
			if cell.AA != "" {
				trials = append(trials, trial(cell, cell.AA, true, block, len(trials), shared))
			}
		}
	}
	for _, t := range trials {
		if !slices.ContainsFunc(run.Arms, func(a results.ArmInfo) bool { return a.Name == t.Arm }) {
			run.Arms = append(run.Arms, results.ArmInfo{Name: t.Arm, Summary: "The arm " + t.Arm + "."})
		}
	}
	return run, trials
}

// plan returns the cells of a small review: the 2×2, cells with more arms, and cells of some other workloads.
func plan(blocks int) []results.PlannedCell {
	more := []string{"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "patch-lock", "update", "ssa", "apply"}
	var cells []results.PlannedCell
	add := func(workload string, writers, processes, objects, managers int, rtt time.Duration, arms ...string) {
		cells = append(cells, results.PlannedCell{
			Arms: arms, Baseline: arms[0], Blocks: blocks, Cell: compare.Cell{Workload: workload, Parameters: compare.Parameters{
				Writers: writers, Processes: processes, Managers: managers, RTT: rtt, Objects: objects,
				Warmup: 300 * time.Millisecond, Duration: 1500 * time.Millisecond,
			}},
		})
	}
	for _, where := range [][2]int{{4, 1}, {1, 1}, {1, 64}} { // processes and objects
		for _, rtt := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
			add("hot-object", 4, where[0], where[1], 4, rtt, "gmu-requeue", "ssa", "gmu-lanes", "ssa-lanes")
		}
	}
	add("hot-object", 1, 1, 1, 4, 0, more...)
	add("hot-object", 16, 1, 1, 4, 0, more...)
	cells[1].AA, cells[2].AA = "ssa", "gmu-requeue"
	add("ten-reconcilers", 10, 1, 1, 10, 0, "gmu-default-retry", "naive", "ssa")
	add("steady-state", 4, 1, 1, 4, 0, "gmu-requeue", "ssa", "apply")
	add("increment", 8, 1, 1, 1, 0, "gmu-requeue", "ssa", "apply", "update")
	add("devbox-status", 4, 1, 1, 4, 0, "gmu-default-retry", "gmu-replace", "ssa", "apply")
	add("hot-object", 4, 1, 1, 4, 0, "put-no-rv", "shared-manager")
	last := &cells[len(cells)-1]
	last.Control, last.Baseline, last.Blocks = true, "", min(blocks, 2)
	return cells
}

func environment() results.Environment {
	return results.Environment{
		Commit: "0123456789ab", Go: "go1.26.8", OS: "linux/amd64", Kernel: "6.1.0", CPU: "Synthetic CPU", Cores: 2,
		FileSystem: "ext4", FsyncP50: new(900 * time.Microsecond), FsyncP99: new(4 * time.Millisecond), EtcdFsync: "on",
		LocalCluster: true, Server: "v1.36.3", Etcd: "3.6.5", ServerCores: []int{0}, GeneratorCores: []int{1},
		User: "coapply-compare", Groups: []string{"system:authenticated"},
	}
}

func workloads() []results.WorkloadInfo {
	return []results.WorkloadInfo{{Name: "ten-reconcilers", Demonstration: true}, {Name: "devbox-status"}}
}

// way describes the made-up costs of one arm.
type way struct {
	verb   string
	reads  float64 // GET requests per attempt
	giveUp float64 // share of intents that are given up under contention
	stale  float64 // stale writes per intent under contention
	ms     float64 // milliseconds for an intent if there is only one writer
	busy   float64 // milliseconds for which an intent keeps the server busy
	cpu    float64 // milliseconds of CPU of the API server per intent
	turns  bool    // whether writers of one process take turns
}

var ways = map[string]way{
	"naive":             {"PUT", 1, 0.95, 0.95, 3.2, 3.2, 1.4, false},
	"gmu-replace":       {"PUT", 1, 0.65, 3, 3.3, 3.3, 1.4, false},
	"gmu-default-retry": {"PUT", 1, 0.65, 3, 3.3, 3.3, 1.4, false},
	"gmu-requeue":       {"PUT", 1, 0, 1.5, 5, 5, 1.4, false},
	"gmu-unbounded":     {"PUT", 1, 0, 2, 3.5, 3.5, 1.4, false},
	"patch-lock":        {"PUT", 1, 0, 2, 3.5, 3.5, 1.4, false},
	"gmu-lanes":         {"PUT", 1, 0, 0, 3.3, 3.3, 1.4, true},
	"update":            {"PUT", 1, 0, 0, 3.3, 3.3, 1.4, true},
	"ssa":               {"APPLY", 0, 0, 0, 2.9, 2.9, 1.5, false},
	"ssa-lanes":         {"APPLY", 0, 0, 0, 2.9, 3, 1.5, true},
	"apply":             {"APPLY", 0, 0, 0, 2.9, 2.4, 1.5, true},
	"put-no-rv":         {"PUT", 0, 0, 0, 2.6, 2.6, 1.4, false},
	"shared-manager":    {"APPLY", 0, 0, 0, 2.9, 2.9, 1.5, false},
}

// loses returns the made-up share of the acknowledged values that an arm loses in a workload.
func loses(arm, workload string) float64 {
	switch {
	case arm == "put-no-rv", arm == "shared-manager":
		return 0.4
	case arm == "gmu-replace":
		return 0.15
	case (arm == "ssa" || arm == "apply") && workload == "increment":
		return 0.3
	}
	return 0
}

// trial returns a made-up trial with small random variations. Contention costs the same for each arm. If the writers
// of a process take turns, only the processes contend with each other.
func trial(cell results.PlannedCell, arm string, aa bool, block, order int, shared float64) results.Trial {
	random := rand.New(rand.NewPCG(Seed, uint64(order)))
	w, meeting := ways[arm], float64(cell.Writers) // meeting is the number of writers that contend
	if w.turns {
		meeting = float64(cell.Processes)
	}
	meeting = max(1, meeting/float64(cell.Objects))
	contended := 1 - 1/meeting
	giveUp, stale := w.giveUp*contended, w.stale*contended
	goodput := (1 - giveUp) * min(float64(cell.Writers)*1000/(w.ms+cell.RTT.Seconds()*1000), 1000/(w.busy*(1+0.18*(meeting-1))))
	goodput *= shared * math.Exp(0.03*random.NormFloat64())
	noop := cell.Workload == "steady-state" && arm != "ssa"

	landed := max(1, int(goodput*cell.Duration.Seconds()))
	givenUp := int(float64(landed) * giveUp / (1 - giveUp))
	all := (cell.Warmup + cell.Duration).Seconds() / cell.Duration.Seconds()
	t := results.Trial{
		ID: fmt.Sprintf("%04d-%s-w%d-m%d-%s", order, cell.Workload, cell.Writers, cell.Managers, arm), Cell: cell.Cell,
		Arm: arm, AA: aa, Block: block, Order: order, Seed: random.Uint64(),
		Started: started.Add(time.Duration(order) * 2 * time.Second), Measured: cell.Duration,
		Timed: counts(landed, givenUp, noop), All: counts(int(float64(landed)*all), int(float64(givenUp)*all), noop),
		Load:    results.Shares{Generator: new(0.4), APIServer: new(0.6), Etcd: new(0.1)},
		Service: latency(cell.Writers, landed, givenUp, cell.Duration.Seconds(), random),
	}
	t.Latency = t.Service
	writes := t.All.Landed - t.All.Skipped
	t.Client = client(t, w, writes, max(t.All.GaveUp, int(float64(t.All.Intents)*stale+0.5)))
	cpu := w.cpu * (1 + 0.03*(meeting-1)) * (1 + 0.5*stale) / (1 - giveUp) * math.Exp(0.02*random.NormFloat64()) * float64(writes) / 1000
	t.Server = results.Server{
		APIServerCPU: new(cpu + 0.01), EtcdCPU: new(cpu / 3), Updates: new(float64(writes) * (1 + 0.18*(meeting-1))), Revisions: writes,
		ObjectBytes: 600 + 250*t.Managers, ManagedFieldsBytes: 180 * t.Managers,
	}
	t.Oracle = results.Oracle{Acknowledged: writes, Found: writes, Lost: int(loses(arm, t.Workload) * float64(writes))}
	return t
}

func client(t results.Trial, w way, writes, stale int) results.Client {
	requests := map[string]int{}
	if writes > 0 {
		requests[w.verb+" 200"] = writes
		requests["GET 200"] = int(w.reads * float64(writes+stale))
		requests[w.verb+" 409"] = stale
	} else {
		stale = 0
	}
	elapsed := time.Duration(t.Writers) * (t.Warmup + t.Measured)
	return results.Client{
		Requests: requests, StaleWrites: stale, BytesUp: int64(writes) * 700, BytesDown: int64(writes) * 1500,
		CPU: 0.0006 * float64(t.All.Landed), Busy: elapsed - elapsed/100, Own: elapsed / 100,
	}
}

func counts(landed, givenUp int, noop bool) results.Counts {
	c := results.Counts{Intents: landed + givenUp, Landed: landed, GaveUp: givenUp}
	if noop {
		c.Skipped = landed
	}
	return c
}

// latency returns made-up latencies. By Little's law, their mean follows from the given numbers of writers and
// intents, if the writers are never idle.
func latency(writers, landed, givenUp int, seconds float64, random *rand.Rand) results.Latency {
	mean := 0.99 * float64(writers) * seconds * 1e6 / float64(landed+givenUp)
	sigma := 0.2 + 0.04*float64(min(writers, 20))
	samples := make([]float64, landed)
	sum := 0.0
	for i := range samples {
		samples[i] = math.Exp(sigma * random.NormFloat64())
		sum += samples[i]
	}
	h := results.NewHistogram()
	for _, sample := range samples {
		rounded := 20 * int64(max(1, sample*mean*float64(landed)/sum/20)) // rounded, so that the encoded histogram is small
		_ = h.RecordValue(rounded)                                        // cannot fail: the value is below one hour
	}
	encoded, err := results.EncodeHistogram(h)
	if err != nil {
		panic(err) // impossible for this histogram
	}
	return results.Latency{Histogram: encoded, NotLanded: givenUp}
}

// Save writes a run and its trials into a folder, in the format of a measured run.
func Save(folder string, run results.Run, trials []results.Trial) error {
	f, err := results.Create(folder)
	if err != nil {
		return err
	}
	err = f.SaveRun(run)
	for _, trial := range trials {
		err = errors.Join(err, f.Append(trial))
	}
	return errors.Join(err, f.Close())
}
