package cells

import (
	"context"
	"fmt"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/workloads"
	"coapply.dev/compare/workloads/deployment"
)

// Arms of the measures.
const (
	plain    = "ssa"
	lanes    = arms.LanesOnly
	forever  = arms.RetryForever
	jittered = "gmu-unbounded"
)

// How long a trial counts. The two whose tails are compared have the same: what has not finished by then counts as if it
// took that long, so that it bounds what can be seen of a tail.
const (
	short = 4 * time.Second
	long  = 8 * time.Second
	tail  = 30 * time.Second
)

// onDeployments is many writers on Deployments of four field managers.
func onDeployments(arm string, writers, objects, processes int, counts time.Duration) one {
	return one{arm, compare.Cell{Workload: workloads.HotDeployment().Name, Parameters: compare.Parameters{
		Writers: writers, Objects: objects, Processes: processes, Managers: deployment.Managers,
		Warmup: min(counts/4, 2*time.Second), Duration: counts,
	}}}
}

func contention(ctx context.Context, t *target.Target, options Options) ([]measure.Row, []results.Trial, error) {
	ours, theirs := onDeployments(lanes, 64, 1, 1, tail), onDeployments(plain, 64, 1, 1, tail)
	gmu, patient := onDeployments(forever, 64, 1, 1, long), onDeployments(jittered, 64, 1, 1, long)
	alone := onDeployments(lanes, 1, 1, 1, short)
	apart, plainApart := onDeployments(lanes, 64, 1, 4, long), onDeployments(plain, 64, 1, 4, long)
	distinct, plainDistinct := onDeployments(lanes, 64, 64, 1, long), onDeployments(plain, 64, 64, 1, long)

	run := &runner{Options: options, target: t}
	if _, err := run.trial(ctx, 0, plainDistinct); err != nil { // the first on a control plane is the slowest
		return nil, nil, err
	}
	r, err := run.rounds(ctx, []one{ours, theirs, gmu, patient, alone, apart, plainApart, distinct, plainDistinct})
	against := "against exponential backoff with full jitter, up to 1 s:"
	return []measure.Row{
		r.ratio(measure.Row{
			ID: "goodput-plain", Measure: "goodput, 64 writers, 4 managers, one Deployment: lanes against plain client.Apply",
			Must: measure.AtLeast(8), Aim: measure.AtLeast(10), Peers: r.rates(ours, theirs),
		}, goodput, ours, theirs),
		r.ratio(measure.Row{
			ID: "goodput-gmu", Measure: "the same against get-modify-update with unbounded retry (DefaultRetry without an end)",
			Must: measure.AtLeast(8), Aim: measure.AtLeast(12), Peers: append(r.rates(gmu), measure.Peer{
				Name: against, Unit: measure.Times, Rounds: r.ratio(measure.Row{}, goodput, ours, patient).Rounds,
			}),
		}, goodput, ours, gmu),
		r.ratio(measure.Row{
			ID: "goodput-flat", Measure: "goodput at 64 writers in lanes against 1 writer, same managers on the object",
			Must: measure.AtLeast(0.75), Aim: measure.AtLeast(0.95), Peers: r.rates(alone),
		}, goodput, ours, alone),
		r.ratio(measure.Row{
			ID: "p99", Measure: "p99 at 64 writers: lanes against plain client.Apply; what did not finish counts as the trial's length at least",
			Must: measure.AtMost(1.0 / 20), Aim: measure.AtMost(1.0 / 40), Peers: r.beside(measure.Time, p99, ours, theirs, gmu, patient),
		}, p99, ours, theirs),
		r.ratio(measure.Row{
			ID: "processes", Measure: "4 processes × 16 writers on one Deployment: lanes against plain client.Apply",
			Must: measure.AtLeast(5), Aim: measure.AtLeast(8), Peers: r.rates(apart, plainApart),
		}, goodput, apart, plainApart),
		r.ratio(measure.Row{
			ID: "distinct", Measure: "writes to distinct objects, 64 writers: lanes against plain client.Apply",
			Must: measure.AtLeast(0.97), Aim: measure.AtLeast(1), Peers: r.rates(distinct, plainDistinct),
		}, goodput, distinct, plainDistinct),
	}, run.all, err
}

// processes spreads few writers over more and more processes.
func processes(ctx context.Context, t *target.Target, options Options) ([]measure.Row, []results.Trial, error) {
	spread := []int{1, 4, 16}
	var trials []one
	for _, n := range spread {
		trials = append(trials, onDeployments(lanes, 16, 1, n, long), onDeployments(plain, 16, 1, n, long))
	}
	run := &runner{Options: options, target: t}
	r, err := run.rounds(ctx, trials)
	var rows []measure.Row
	for i, n := range spread {
		pair := trials[2*i : 2*i+2]
		rows = append(rows, r.ratio(measure.Row{
			ID: fmt.Sprint("spread-", n), Measure: fmt.Sprintf("16 writers of one Deployment in %d processes: lanes against plain client.Apply", n),
			Must: measure.AtLeast(0.95), Aim: measure.AtLeast(1),
			Peers: slices.Concat(r.rates(pair...), r.beside(measure.Time, p99, pair...)),
		}, goodput, pair[0], pair[1]))
	}
	return rows, run.all, err
}
