package trial

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
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

// take gives an idle writer the next arrival, which may still be to come; false if there is none. Writers take them in
// order, so that each is served by the first writer that is idle.
func (a *arrivals) take() (time.Duration, bool) {
	i := a.taken.Add(1) - 1
	if i >= int64(len(a.times)) {
		return 0, false
	}
	return a.times[i], true
}
