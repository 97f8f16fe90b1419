package width

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"coapply.dev/compare/peers/arms"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
)

// Rows are the measures of a run.
func Rows(rounds []Round, quick bool) []measure.Row {
	var against, best []measure.Row
	for _, c := range cells(quick) {
		against = append(against, againstPlain(rounds, c))
		if c.writers > 1 {
			best = append(best, againstBest(rounds, c))
		}
	}
	return slices.Concat(against, best, afterChanges(rounds), ofFallback(rounds, fallbackCell(quick)))
}

// Judged gives what was lost, in all writes that were acknowledged, and the trials.
func Judged(rounds []Round) (lost, acknowledged int, trials []results.Trial) {
	for _, round := range rounds {
		for _, t := range slices.SortedFunc(maps.Values(round.trials), func(a, b results.Trial) int { return strings.Compare(a.ID, b.ID) }) {
			lost += t.Oracle.LostUpdates()
			acknowledged += t.Oracle.Acknowledged
			trials = append(trials, t)
		}
	}
	return lost, acknowledged, trials
}

func id(kind string, c cell) string { return fmt.Sprintf("%s-w%d-%s", kind, c.writers, c.trip) }

func againstPlain(rounds []Round, c cell) measure.Row {
	return measure.Row{
		ID: id("width-plain", c), Measure: fmt.Sprintf("goodput over a network, one ConfigMap, %d managers, %s: lanes against plain client.Apply", managers, c),
		Unit: measure.Times, Must: measure.AtLeast(0.95), Aim: measure.AtLeast(1),
		Rounds: ratios(rounds, one{c, adaptive}, one{c, plain}), Peers: rates(rounds, c, adaptive, plain),
	}
}

// againstBest compares with the width whose median is best, so that chance in one round does not choose it.
func againstBest(rounds []Round, c cell) measure.Row {
	var fixed []string
	for _, width := range arms.Widths {
		fixed = append(fixed, arms.OfWidth(width))
	}
	best := slices.MaxFunc(fixed, func(a, b string) int {
		if measure.Median(goodputs(rounds, one{c, a})) < measure.Median(goodputs(rounds, one{c, b})) {
			return -1
		}
		return 1
	})
	return measure.Row{
		ID: id("width-best", c), Measure: fmt.Sprintf("the same, %s: against the best fixed width, here %s", c, strings.TrimPrefix(best, adaptive+"-")),
		Unit: measure.Times, Must: measure.AtLeast(0.85), Aim: measure.AtLeast(0.95),
		Rounds: ratios(rounds, one{c, adaptive}, one{c, best}), Peers: rates(rounds, c, fixed...),
	}
}

func afterChanges(rounds []Round) (rows []measure.Row) {
	for i := 1; i < len(changes); i++ {
		row := measure.Row{
			ID: fmt.Sprintf("width-change-%d", i),
			Measure: fmt.Sprintf("the round trip changes from +%s to +%s, %d writers: time until %.2g of the best fixed width",
				changes[i-1], changes[i], changingWriters, reached),
			Unit: measure.Time, Must: measure.AtMost(5), Aim: measure.AtMost(2),
		}
		for _, round := range rounds {
			row.Rounds = append(row.Rounds, round.changes[i-1].after.Seconds())
		}
		rows = append(rows, row)
	}
	return rows
}

func ofFallback(rounds []Round, c cell) []measure.Row {
	ours, theirs := one{c, fallback}, one{c, gmuLanes}
	var each, peers []float64
	for _, round := range rounds {
		each = append(each, requestsEach(round.trials[ours]))
		peers = append(peers, requestsEach(round.trials[theirs]))
	}
	return []measure.Row{
		{
			ID: "fallback-requests", Measure: fmt.Sprintf("update.Do, %d writers, one ConfigMap: requests a write", c.writers),
			Unit: measure.Requests, Must: measure.AtMost(1.1), Aim: measure.AtMost(1.02), Rounds: each,
			Peers: []measure.Peer{{Name: gmuLanes, Unit: measure.Requests, Rounds: peers}},
		},
		{
			ID: "fallback-goodput", Measure: "the same: goodput against get-modify-update in lanes, with a read each",
			Unit: measure.Times, Must: measure.AtLeast(1.3), Aim: measure.AtLeast(1.6),
			Rounds: ratios(rounds, ours, theirs), Peers: rates(rounds, c, fallback, gmuLanes),
		},
	}
}

// ratios are those within a round; one with a void trial has none.
func ratios(rounds []Round, a, b one) (all []float64) {
	for _, round := range rounds {
		if x, y := goodput(round.trials[a]), goodput(round.trials[b]); x > 0 && y > 0 {
			all = append(all, x/y)
		}
	}
	return all
}

func goodputs(rounds []Round, o one) (all []float64) {
	for _, round := range rounds {
		if x := goodput(round.trials[o]); x > 0 {
			all = append(all, x)
		}
	}
	return all
}

func rates(rounds []Round, c cell, names ...string) (peers []measure.Peer) {
	for _, arm := range names {
		peers = append(peers, measure.Peer{Name: arm, Unit: measure.Rate, Rounds: goodputs(rounds, one{c, arm})})
	}
	return peers
}
