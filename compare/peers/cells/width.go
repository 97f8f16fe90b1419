package cells

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
)

// managers is the number of field managers of the ConfigMap. Each writer changes the key of its field manager.
const managers = 4

// onConfigMap returns a trial in which writers write to one ConfigMap, with a round trip added to each request.
func onConfigMap(arm string, writers int, trip time.Duration) one {
	return one{arm, compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{
		Writers: writers, Objects: 1, Managers: managers, Processes: 1, RTT: trip, Warmup: time.Second, Duration: short,
	}}}
}

// at sets the row's place in a grid. The line is the number of writers, and the column is the added round-trip time.
func (o one) at(row measure.Row) measure.Row {
	row.Measure, row.Column = fmt.Sprintf("%d writers", o.Writers), fmt.Sprintf("+%s", o.RTT)
	if o.Writers == 1 {
		row.Measure = "1 writer"
	}
	return row
}

func id(kind string, o one) string { return fmt.Sprintf("%s-w%d-%s", kind, o.Writers, o.RTT) }

// fixed returns a trial for each number in arms.Widths: the number of writers that a lane admits at once. The cell is that of o.
func fixed(o one) (all []one) {
	for _, width := range arms.Widths {
		all = append(all, one{arms.OfWidth(width), o.Cell})
	}
	return all
}

// width is the part that measures lanes at several round-trip times. It compares lanes of automatic width with plain
// client.Apply and with lanes of each fixed width. It also compares coapply's Updater with get-modify-update in lanes.
func width(quick bool) part {
	var ours, trials []one
	for _, writers := range []int{1, 4, 16, 64} {
		for _, trip := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
			if quick && (writers != 4 || trip != 5*time.Millisecond) {
				continue
			}
			o := onConfigMap(lanes, writers, trip).shortened(quick)
			ours, trials = append(ours, o), append(trials, o, one{plain, o.Cell})
			if writers > 1 { // with one writer the width has no effect
				trials = append(trials, fixed(o)...)
			}
		}
	}
	fallback, gmu := onConfigMap("update", 64, 0).shortened(quick), onConfigMap("gmu-lanes", 64, 0).shortened(quick)
	return part{append(trials, fallback, gmu), func(r rounds) (rows []measure.Row) {
		for _, o := range ours {
			rows = append(rows, r.ratio(o.at(measure.Row{
				ID: id("width-plain", o), Must: measure.AtLeast(0.95), Aim: measure.AtLeast(1), Peers: r.rates(o, one{plain, o.Cell}),
				Series: fmt.Sprintf("goodput over a network, one ConfigMap, %d managers: lanes against plain client.Apply", managers),
			}), goodput, o, one{plain, o.Cell}))
		}
		for _, o := range ours {
			if o.Writers > 1 {
				rows = append(rows, r.againstBest(o))
			}
		}
		return append(rows, r.ofFallback(fallback, gmu)...)
	}}
}

// againstBest returns the row that compares the given trial with the best fixed width. The best fixed width has the
// highest median over all rounds. A separate choice in each round would reward chance.
func (r rounds) againstBest(o one) measure.Row {
	widths := slices.SortedStableFunc(slices.Values(fixed(o)), func(a, b one) int {
		return cmp.Compare(measure.Median(r.values(goodput, b)), measure.Median(r.values(goodput, a)))
	})
	return r.ratio(o.at(measure.Row{
		ID: id("width-best", o), Must: measure.AtLeast(0.85), Aim: measure.AtLeast(0.95), Peers: r.rates(widths...),
		Series: "the same against lanes of the best fixed width",
	}), goodput, o, widths[0])
}

func (r rounds) ofFallback(ours, theirs one) []measure.Row {
	return []measure.Row{
		{
			ID: "fallback-requests", Measure: fmt.Sprintf("update.Do, %d writers, one ConfigMap: requests per write", ours.Writers),
			Unit: measure.Requests, Must: measure.AtMost(1.1), Aim: measure.AtMost(1.02), Rounds: r.values(requestsEach, ours),
			Peers: r.beside(measure.Requests, requestsEach, theirs),
		},
		r.ratio(measure.Row{
			ID: "fallback-goodput", Measure: "the same: goodput against get-modify-update in lanes, with a read each",
			Must: measure.AtLeast(1.3), Aim: measure.AtLeast(1.6), Peers: r.rates(ours, theirs),
		}, goodput, ours, theirs),
	}
}

// requestsEach returns the number of requests per landed intent over the whole trial. The lanes' own requests, which
// measure the round-trip time, are included.
func requestsEach(t results.Trial) float64 {
	sent := 0
	for what, requests := range t.Client.Requests {
		if !strings.HasSuffix(what, " none") {
			sent += requests
		}
	}
	return float64(sent) / float64(max(t.All.Landed, 1))
}
