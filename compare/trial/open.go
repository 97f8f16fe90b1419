package trial

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// arrivals are the times at which intents arrive in an open loop. The arrivals are a Poisson process: intents arrive at
// random times, independently of earlier intents.
type arrivals struct {
	times []time.Duration // since the writers began
	taken atomic.Int64
	begun atomic.Int64
}

// newArrivals returns random arrivals within the given duration. The given rate is their mean number per second.
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

// take returns the next arrival for an idle writer, or false if there are no more arrivals. If the arrival is in the
// future, the writer has to wait for it. Each arrival is handled by the first idle writer.
func (a *arrivals) take() (time.Duration, bool) {
	i := a.taken.Add(1) - 1
	if i >= int64(len(a.times)) {
		return 0, false
	}
	return a.times[i], true
}

// convergeBound is the time that writers have after the last arrival to handle the arrivals that still wait.
const convergeBound = 5 * time.Second

// open returns the results that only an open loop has. It returns nil for a closed loop.
func (l *log) open() *results.Open {
	if l.arrivals == nil {
		return nil
	}
	open := &results.Open{Arrived: len(l.arrivals.times)}
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
	}
	if n := len(landed); n > 0 && n == open.Arrived {
		open.Converged = new(max(0, landed[n-1]-l.start-l.arrivals.times[n-1]))
	}
	return open
}
