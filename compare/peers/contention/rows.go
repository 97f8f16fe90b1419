package contention

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
)

// Rows are the measures of contention, over the rounds.
func Rows(rounds []Round) []measure.Row {
	return []measure.Row{
		{
			ID: "goodput-plain", Measure: "goodput, 64 writers, 4 managers, one Deployment: lanes against plain client.Apply",
			Unit: measure.Times, Must: measure.AtLeast(8), Aim: measure.AtLeast(10),
			Rounds: ratios(rounds, goodput, lanes, plain), Peers: rates(rounds, lanes, plain),
		},
		{
			ID: "goodput-gmu", Measure: "the same against get-modify-update with unbounded retry (DefaultRetry without an end)",
			Unit: measure.Times, Must: measure.AtLeast(8), Aim: measure.AtLeast(12),
			Rounds: ratios(rounds, goodput, lanes, gmuForever),
			Peers: append(rates(rounds, gmuForever), measure.Peer{
				Name: "against exponential backoff with full jitter, up to 1 s:", Unit: measure.Times,
				Rounds: ratios(rounds, goodput, lanes, gmuJittered),
			}),
		},
		{
			ID: "goodput-flat", Measure: "goodput at 64 writers in lanes against 1 writer, same managers on the object",
			Unit: measure.Times, Must: measure.AtLeast(0.75), Aim: measure.AtLeast(0.95),
			Rounds: ratios(rounds, goodput, lanes, lanesAlone), Peers: rates(rounds, lanesAlone),
		},
		{
			ID: "p99", Measure: "p99 at 64 writers: lanes against plain client.Apply; what did not finish counts as the trial's length at least",
			Unit: measure.Times, Must: measure.AtMost(1.0 / 20), Aim: measure.AtMost(1.0 / 40),
			Rounds: ratios(rounds, p99, lanes, plain), Peers: latencies(rounds, lanes, plain, gmuForever, gmuJittered),
		},
		{
			ID: "processes", Measure: "4 processes × 16 writers on one Deployment: lanes against plain client.Apply",
			Unit: measure.Times, Must: measure.AtLeast(5), Aim: measure.AtLeast(8),
			Rounds: ratios(rounds, goodput, lanesProcesses, plainProcesses), Peers: rates(rounds, lanesProcesses, plainProcesses),
		},
		{
			ID: "distinct", Measure: "writes to distinct objects, 64 writers: lanes against plain client.Apply",
			Unit: measure.Times, Must: measure.AtLeast(0.97), Aim: measure.AtLeast(1),
			Rounds: ratios(rounds, goodput, lanesDistinct, plainDistinct), Peers: rates(rounds, lanesDistinct, plainDistinct),
		},
	}
}

// SpreadRows are the measures of few writers in more and more processes, over the rounds.
func SpreadRows(rounds []Round) (rows []measure.Row) {
	for _, n := range spreads {
		lanes, plain := spreadID("lanes", n), spreadID("ssa", n)
		rows = append(rows, measure.Row{
			ID: fmt.Sprint("spread-", n), Measure: fmt.Sprintf("%d writers of one Deployment in %d processes: lanes against plain client.Apply", few, n),
			Unit: measure.Times, Must: measure.AtLeast(0.95), Aim: measure.AtLeast(1),
			Rounds: ratios(rounds, goodput, lanes, plain), Peers: append(rates(rounds, lanes, plain), latencies(rounds, lanes, plain)...),
		})
	}
	return rows
}

// Judged gives the values that were acknowledged and lost, in all writes that were acknowledged, and the trials.
func Judged(rounds []Round) (lost, acknowledged int, trials []results.Trial) {
	for _, round := range rounds {
		for _, id := range slices.Sorted(maps.Keys(round)) {
			t := round[id]
			lost += t.Oracle.LostUpdates()
			acknowledged += t.Oracle.Acknowledged
			trials = append(trials, t)
		}
	}
	return lost, acknowledged, trials
}

// ratios are those within a round; one with a void trial has none.
func ratios(rounds []Round, of func(results.Trial) float64, one, other string) []float64 {
	var all []float64
	for _, round := range rounds {
		ratio := of(round[one]) / of(round[other])
		if counts(round, one) && counts(round, other) && !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
			all = append(all, ratio)
		}
	}
	return all
}

func counts(round Round, id string) bool {
	t, ran := round[id]
	return ran && t.Void == ""
}

func values(rounds []Round, of func(results.Trial) float64, id string) []float64 {
	var all []float64
	for _, round := range rounds {
		if counts(round, id) {
			all = append(all, of(round[id]))
		}
	}
	return all
}

func rates(rounds []Round, ids ...string) []measure.Peer {
	var peers []measure.Peer
	for _, id := range ids {
		peers = append(peers, measure.Peer{Name: id, Unit: measure.Rate, Rounds: values(rounds, goodput, id)})
	}
	return peers
}

func latencies(rounds []Round, ids ...string) []measure.Peer {
	var peers []measure.Peer
	for _, id := range ids {
		seconds := func(t results.Trial) float64 { return p99(t) / 1000 }
		peers = append(peers, measure.Peer{Name: id, Unit: measure.Time, Rounds: values(rounds, seconds, id)})
	}
	return peers
}

func goodput(t results.Trial) float64 {
	if g := t.Goodput(); g != nil {
		return *g
	}
	return math.NaN()
}

// p99 in milliseconds, of the intents that began in the time that counts. Where it falls among those that never landed, it
// is the length of the trial or the longest that landed, whichever is more: it was that at least.
func p99(t results.Trial) float64 {
	all, err := results.Merge(t.Latency)
	if err != nil {
		return math.NaN()
	}
	p := all.Percentiles()
	if p.P99 != nil {
		return *p.P99
	}
	atLeast := float64(t.Duration) / float64(time.Millisecond)
	if p.Max != nil {
		atLeast = max(atLeast, *p.Max)
	}
	return atLeast
}
