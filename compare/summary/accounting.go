package summary

import (
	"fmt"
	"math"
	"strings"

	"coapply.dev/compare/results"
)

// accountLimit is the error beyond which the benchmark itself has a bug.
const accountLimit = 0.02

// edges is how many times longer than an intent the time of all trials has to be for Little's law.
const edges = 100

// accounts holds what was answered against what was acknowledged. Only hot-object has one write for each intent.
func accounts(r *reckoning) (verdict, seen string) {
	worst, at, trials := 0.0, "", 0
	for _, g := range r.where(func(g group) bool { return g.cell.Workload == "hot-object" }) {
		for _, t := range g.trials {
			trials++
			if e := accountError(t); e > worst {
				worst, at = e, " ("+t.ID+")"
			}
		}
	}
	if trials == 0 {
		return notApplicable, "hot-object was not measured"
	}
	return state(worst <= accountLimit), fmt.Sprintf("off by at most %s%s over %s", percent(worst), at, plural(trials, "trial"))
}

func accountError(t results.Trial) float64 {
	written, refused := 0, 0
	for name, r := range t.Client.Requests {
		verb, code, _ := strings.Cut(name, " ")
		switch {
		case verb == "GET":
		case strings.HasPrefix(code, "2"):
			written += r.Count
		case code == "409":
			refused += r.Count
		}
	}
	return max(off(written, t.Oracle.Acknowledged), off(refused, t.Client.StaleWrites+t.Client.Conflicts))
}

func off(a, b int) float64 {
	if a == b {
		return 0
	}
	return math.Abs(float64(a-b)) / float64(max(a, b))
}

// littlesLaw leaves out what it cannot hold for: open loops, rounds, intents without an end, and intents so long that the
// edges of the trials weigh: of each writer one intent more or less may have ended than begun.
func littlesLaw(r *reckoning) (verdict, seen string) {
	worst, at, cells := 0.0, "", 0
	for _, g := range r.where(func(g group) bool { return g.cell.Rate == 0 && g.cell.Rounds == 0 }) {
		writers, ok := g.busyWriters()
		if !ok {
			continue
		}
		cells++
		if e := math.Abs(writers/float64(g.cell.Writers) - 1); e >= worst {
			worst, at = e, fmt.Sprintf(" (%s: %.4g of %d writers)", g.label(), writers, g.cell.Writers)
		}
	}
	if cells == 0 {
		return notApplicable, "in no cell did all intents land and take little of the time"
	}
	return state(worst <= accountLimit), fmt.Sprintf("off by at most %s%s, %d arms in cells", percent(worst), at, cells)
}

// busyWriters is throughput × time of an intent, and what the writers did besides.
func (g group) busyWriters() (float64, bool) {
	var service []results.Latency
	landed, measured, idle, all := 0.0, 0.0, 0.0, 0.0
	for _, t := range g.trials {
		service = append(service, t.Service)
		if t.Service.NotLanded > 0 || t.Timed.GiveUps() > 0 {
			return 0, false
		}
		landed, measured = landed+float64(t.Timed.Landed), measured+t.Measured.Seconds()
		// Not what was waited: without barriers and arrivals that is the spread of the beginnings, before the time.
		idle += t.Client.Own.Seconds()
		all += (t.Client.Own + t.Client.Busy).Seconds()
	}
	d, err := results.Merge(service...)
	if err != nil || d.Mean() == nil || all == 0 || measured == 0 {
		return 0, false
	}
	p99, trial := *d.Percentiles().P99/1000, measured/float64(len(g.trials))
	if 20*p99 > trial || *d.Mean()/1000*edges > measured || idle == all {
		return 0, false
	}
	return landed / measured * *d.Mean() / 1000 / (1 - idle/all), true
}
