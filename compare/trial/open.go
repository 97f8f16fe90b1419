package trial

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// arrivals are when intents arrive in an open loop, whatever became of those before: a Poisson process, drawn beforehand.
type arrivals struct {
	times []time.Duration // since the writers began
	taken atomic.Int64
	begun atomic.Int64
}

// newArrivals draws those within a duration, rate a second in the mean.
func newArrivals(rate float64, within time.Duration, random *rand.Rand) *arrivals {
	a := &arrivals{}
	for at := 0.0; ; {
		at += random.ExpFloat64() / rate
		if at >= within.Seconds() {
			return a
		}
		a.times = append(a.times, time.Duration(at*float64(time.Second)))
	}
}

// take returns the next arrival for an idle writer, which may still be to come; false if there is none. Writers take them in
// order, so that each is served by the first writer that is idle.
func (a *arrivals) take() (time.Duration, bool) {
	i := a.taken.Add(1) - 1
	if i >= int64(len(a.times)) {
		return 0, false
	}
	return a.times[i], true
}

// convergeBound is how long after the last arrival the writers work off what is left.
const convergeBound = 5 * time.Second

// open is what an open loop comes to; nil in a closed one.
func (l *log) open(unstarted int) *results.Open {
	if l.arrivals == nil {
		return nil
	}
	open := &results.Open{Arrived: len(l.arrivals.times), Unstarted: unstarted}
	var landed []time.Duration
	for _, w := range l.writers {
		for _, m := range w.Intents {
			if m.Outcome == history.Landed {
				landed = append(landed, m.Ended)
			}
		}
	}
	slices.Sort(landed)
	done := 0
	for i, at := range l.arrivals.times {
		for done < len(landed) && landed[done] <= l.start+at {
			done++
		}
		open.Backlog = i + 1 - done
		open.PeakBacklog = max(open.PeakBacklog, open.Backlog)
	}
	if n := len(landed); n > 0 && n == open.Arrived {
		open.Converged = new(max(0, landed[n-1]-l.start-l.arrivals.times[n-1]))
	}
	return open
}
