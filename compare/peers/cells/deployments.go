package cells

import (
	"fmt"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/workloads"
	"coapply.dev/compare/workloads/deployment"
)

// Names of the compared arms.
const (
	plain    = "ssa"
	lanes    = arms.LanesOnly
	forever  = arms.RetryForever
	jittered = "gmu-unbounded"
)

// Durations of the timed part. An intent that does not land counts with the duration of the trial. Trials whose tail
// latencies are compared therefore have the same duration.
const (
	short = 4 * time.Second
	long  = 8 * time.Second
	tail  = 30 * time.Second
)

// onDeployments returns a trial in which many writers write to Deployments with four field managers.
func onDeployments(arm string, writers, objects, processes int, counts time.Duration) one {
	return one{arm, compare.Cell{Workload: workloads.HotDeployment().Name, Parameters: compare.Parameters{
		Writers: writers, Objects: objects, Processes: processes, Managers: deployment.Managers,
		Warmup: min(counts/4, 2*time.Second), Duration: counts,
	}}}
}

func contention(quick bool) part {
	on := func(arm string, writers, objects, processes int, counts time.Duration) one {
		return onDeployments(arm, writers, objects, processes, counts).shortened(quick)
	}
	ours, theirs := on(lanes, 64, 1, 1, tail), on(plain, 64, 1, 1, tail)
	gmu, patient := on(forever, 64, 1, 1, long), on(jittered, 64, 1, 1, long)
	alone := on(lanes, 1, 1, 1, short)
	apart, plainApart := on(lanes, 64, 1, 4, short), on(plain, 64, 1, 4, long)
	distinct, plainDistinct := on(lanes, 64, 64, 1, long), on(plain, 64, 64, 1, long)
	rows := func(r rounds) []measure.Row {
		return []measure.Row{
			r.ratio(measure.Row{
				ID: "goodput-plain", Measure: "goodput, 64 writers, 4 managers, one Deployment: lanes against plain client.Apply",
				Must: measure.AtLeast(8), Aim: measure.AtLeast(10), Peers: r.rates(ours, theirs),
			}, goodput, ours, theirs),
			r.ratio(measure.Row{
				ID: "goodput-gmu", Measure: "the same against get-modify-update that retries forever, with the delays of DefaultRetry",
				Must: measure.AtLeast(8), Aim: measure.AtLeast(12), Peers: append(r.rates(gmu), measure.Peer{
					Name: "against exponential backoff with full jitter, up to 1 s:", Unit: measure.Times, Rounds: r.ratio(measure.Row{}, goodput, ours, patient).Rounds,
				}),
			}, goodput, ours, gmu),
			r.ratio(measure.Row{
				ID: "goodput-flat", Measure: "goodput at 64 writers in lanes against 1 writer, same managers on the object",
				Must: measure.AtLeast(0.75), Aim: measure.AtLeast(0.95), Peers: r.rates(alone),
			}, goodput, ours, alone),
			r.ratio(measure.Row{
				ID: "p99", Measure: "p99 at 64 writers: lanes against plain client.Apply; an unfinished intent counts as at least the trial's length",
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
		}
	}
	return part{[]one{ours, theirs, gmu, patient, alone, apart, plainApart, distinct, plainDistinct}, rows}
}

// processes is the part that spreads 16 writers over 1, 4 and 16 processes.
func processes(quick bool) part {
	spread := []int{1, 4, 16}
	var trials []one
	for _, n := range spread {
		for _, arm := range []string{lanes, plain} {
			trials = append(trials, onDeployments(arm, 16, 1, n, long).shortened(quick))
		}
	}
	return part{trials, func(r rounds) (rows []measure.Row) {
		for i, n := range spread {
			pair := trials[2*i : 2*i+2]
			tails := r.beside(measure.Time, p99, pair...)
			for i := range tails {
				tails[i].Name = "p99 " + tails[i].Name
			}
			rows = append(rows, r.ratio(measure.Row{
				ID: fmt.Sprint("spread-", n), Must: measure.AtLeast(0.95), Aim: measure.AtLeast(1), Peers: slices.Concat(r.rates(pair...), tails),
				Series: "16 writers of one Deployment: lanes against plain client.Apply", Measure: fmt.Sprintf("processes: %d", n),
			}, goodput, pair[0], pair[1]))
		}
		return rows
	}}
}
