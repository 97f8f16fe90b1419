package summary

import (
	"fmt"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// reckon gives the group's line of the results.
func (g group) reckon(run results.Run) results.Result {
	r := results.Result{
		Workload: g.cell.Workload, Arm: g.arm, AA: g.aa, Control: g.cell.Control, Writers: g.cell.Writers,
		Objects: g.cell.Objects, Managers: g.cell.Managers, Processes: g.cell.Processes, RTTms: g.cell.RTT.Seconds() * 1000,
		Rate: g.cell.Rate, Trials: len(g.trials), Void: len(g.void),
	}
	latencyProblem := g.latencies(&r)
	g.counts(&r)
	g.costs(&r)
	r.Goodput = g.mean(results.Trial.Goodput)
	r.Fairness = average(g.each(fairness))
	r.GeneratorShare = g.per(func(t results.Trial) *float64 { return seconds(t.Client.Own) },
		func(t results.Trial) float64 { return (t.Client.Own + t.Client.Busy).Seconds() })
	r.Extra = g.extra()
	r.NoVerdict = g.noVerdict(run, r, latencyProblem)
	return r
}

func (g group) latencies(r *results.Result) error {
	var latency, service []results.Latency
	for _, t := range g.trials {
		latency, service = append(latency, t.Latency), append(service, t.Service)
	}
	all, err := results.Merge(latency...)
	if err != nil {
		return err
	}
	served, err := results.Merge(service...)
	if err != nil {
		return err
	}
	r.Latency, r.Service = all.Percentiles(), served.Percentiles()
	return nil
}

func (g group) counts(r *results.Result) {
	for _, t := range g.trials {
		r.Intents += t.All.Intents
		r.Acknowledged += t.Oracle.Acknowledged
		r.GiveUps += t.All.GiveUps()
		r.LostUpdates += t.Oracle.LostUpdates()
		r.Stolen += t.Oracle.Stolen
		r.Phantom += t.Oracle.Phantom
		r.Conflicts += t.Client.Conflicts
		r.StaleWrites += t.Client.StaleWrites
		r.Throttled += t.Client.Throttled
	}
	if r.Intents > 0 {
		r.GiveUpShare = new(float64(r.GiveUps) / float64(r.Intents))
	}
	// One write can carry several values, so more can be lost than were acknowledged.
	if _, hi, ok := statistics.Proportion(min(r.LostUpdates, r.Acknowledged), r.Acknowledged); ok {
		r.LostUpper = &hi
	}
}

func fairness(t results.Trial) *float64 {
	if index, ok := statistics.Fairness(t.PerWriter); ok {
		return &index
	}
	return nil
}

// Limits beyond which an arm gets no verdict in a cell.
const (
	generatorLimit = 0.10 // the load generator's share of the writers' time
	clientCPULimit = 0.80 // of what GOMAXPROCS allows
)

func (g group) noVerdict(run results.Run, r results.Result, latencyProblem error) string {
	cpu := g.clientCPUShare(run)
	switch {
	case len(g.trials) == 0:
		return fmt.Sprintf("no trial counts: %s", g.void[0].Void)
	case latencyProblem != nil:
		return latencyProblem.Error()
	case g.cell.Control:
		return "a control shows what the oracle sees, not how fast it is"
	case r.GeneratorShare != nil && *r.GeneratorShare > generatorLimit:
		return fmt.Sprintf("the load generator took %.1f %% of the writers' time, more than %.0f %%",
			100**r.GeneratorShare, 100*generatorLimit)
	case cpu != nil && *cpu > clientCPULimit:
		return fmt.Sprintf("the client used %.0f %% of its CPU, more than %.0f %%", 100**cpu, 100*clientCPULimit)
	case len(g.trials) < statistics.EnoughForVerdict:
		return fmt.Sprintf("too few trials for a verdict: %d count, and it needs %d", len(g.trials), statistics.EnoughForVerdict)
	}
	return ""
}

// clientCPUShare is of the cores that the Go runtime may use; nil if that is not known.
func (g group) clientCPUShare(run results.Run) *float64 {
	return g.per(func(t results.Trial) *float64 { return &t.Client.CPU }, func(t results.Trial) float64 {
		return (t.Warmup + t.Measured).Seconds() * float64(run.Environment.GOMAXPROCS)
	})
}
