package lanes

import (
	"context"
	"time"
)

// roundTrip holds the last four measurements of the round-trip time to the API server. Only the
// shortest one is used, as the API server may have been busy during the others.
type roundTrip struct {
	measured [4]measurement
	next     int
	again    time.Time // the earliest time of the next measurement
	asking   bool      // a measurement is in progress
	refused  bool      // the API server has rejected a measurement
}

type measurement struct {
	took  time.Duration
	until time.Time // when the measurement expires
}

const (
	between    = 150 * time.Millisecond // the minimum pause before the next measurement
	rare       = 60                     // the minimum pause, as a multiple of the measured round-trip time
	recently   = 6 * time.Second        // the minimum time for which a measurement is used
	lasting    = 2                      // the same minimum, as a multiple of the pause
	failedFor  = 10 * time.Second       // the pause after a measurement that failed
	refusedFor = 10 * time.Minute       // the pause after a measurement that the API server rejected
)

// ProbeTimeout limits the two waits of a measurement separately: the wait until no writer is inside
// the lane, and the wait for the API server's response.
const ProbeTimeout = time.Second

// least returns the shortest measured round-trip time, or 0 if there is no valid measurement.
func (r *roundTrip) least(now time.Time) (took time.Duration) {
	for _, m := range &r.measured {
		if !now.After(m.until) && (took == 0 || m.took < took) {
			took = m.took
		}
	}
	return took
}

// Probe is one measurement of the round-trip time to the API server. Its holder calls Quiet to wait,
// sends a request, and then calls Answered, Failed or Refused to end the measurement.
//
// The lane lets no visit in until the measurement has ended. Writes at the same time would keep a small
// API server busy, so that the request would take longer than the round-trip time. The lane would
// become too wide, and its writes would conflict with each other.
type Probe struct {
	lane  *lane
	quiet chan struct{} // closed when nobody is inside the lane any more
	began time.Time     // when the request was sent
}

// Measure returns a Probe if the caller should now measure the round-trip time, with a request that is
// very cheap for the API server. This is the case if other callers of Enter or Join are in the lane or
// wait for it, and the last measurement is old enough. Otherwise Measure returns nil.
func Measure(inside context.Context) *Probe {
	v := visitOf(inside)
	if v == nil || v.lane == nil || v.lane.set.fixed > 0 {
		return nil
	}
	l := v.lane
	s := l.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if v.left.Load() || v.alone || len(l.inside)+len(l.waiting) < 2 || s.trip.asking || time.Now().Before(s.trip.again) {
		return nil
	}
	s.trip.asking = true
	l.probe = &Probe{lane: l, quiet: make(chan struct{})}
	return l.probe
}

// Quiet waits until nobody is inside the lane. If ctx ends first, Quiet calls Failed and returns an
// error.
func (p *Probe) Quiet(ctx context.Context) error {
	select {
	case <-p.quiet:
		p.began = time.Now()
		return nil
	case <-ctx.Done():
		p.Failed()
		return ctx.Err()
	}
}

// Answered ends the measurement after the API server's response, and stores its result.
func (p *Probe) Answered() {
	now := time.Now()
	took := max(now.Sub(p.began), 1)
	pause := max(between, rare*took)
	p.end(now.Add(pause), func(r *roundTrip) {
		r.measured[r.next] = measurement{took: took, until: now.Add(max(recently, lasting*pause))}
		r.next = (r.next + 1) % len(r.measured)
	})
}

// Failed ends the measurement without a result. The next measurement is at least 10 seconds later.
func (p *Probe) Failed() {
	p.end(time.Now().Add(failedFor), func(*roundTrip) {})
}

// Refused ends the measurement because the API server does not allow the request. The next
// measurement is at least 10 minutes later. Refused reports whether this is the first refusal.
func (p *Probe) Refused() (first bool) {
	p.end(time.Now().Add(refusedFor), func(r *roundTrip) {
		first = !r.refused
		r.refused = true
	})
	return first
}

// end stores the result of the measurement, and lets in the writers that waited for the end.
func (p *Probe) end(again time.Time, note func(*roundTrip)) {
	l := p.lane
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	l.set.trip.asking, l.set.trip.again = false, again
	note(&l.set.trip)
	l.probe = nil
	l.pace.resume(time.Now())
	if l.admit(nil); len(l.inside) == 0 {
		l.rest()
	}
}

// unlessBusy ends the wait of Quiet if nobody is inside the lane.
func (p *Probe) unlessBusy() {
	if len(p.lane.inside) == 0 {
		select {
		case <-p.quiet:
		default:
			close(p.quiet)
		}
	}
}

// pace measures how fast the joint writes of a lane complete, to compute how many concurrent writes
// keep the API server busy.
//
// With one write at a time, the API server is idle while a response and the next request are on the
// network. The API server always has a write to process if, beside that write, there are as many writes
// in flight as the API server processes within one round-trip time (the bandwidth-delay product).
type pace struct {
	gap     time.Duration // smoothed time from the end of one write to the end of the next; 0 if not known yet
	last    time.Time     // when the last write ended
	seen    int32         // the number of measured gaps, at most smooth
	running bool          // whether the time since last counts as part of a gap
}

const (
	smooth = 12 // the number of gaps between writes in the average
	few    = 4  // the minimum number of gaps for a width above 1

	// widest is the maximum width. It limits the effect of wrong measurements.
	widest = 16
)

// completed records that a joint write ended.
func (p *pace) completed(now time.Time) {
	if p.running {
		if p.seen < smooth {
			p.seen++
		}
		p.gap += (now.Sub(p.last) - p.gap) / time.Duration(p.seen)
	}
	p.last, p.running = now, true
}

// pause excludes the time until the end of the next write from the measured gaps between writes.
func (p *pace) pause() { p.running = false }

// resume starts to measure a new gap between writes, after a time in which nobody could write.
func (p *pace) resume(now time.Time) {
	if !p.last.IsZero() {
		p.last, p.running = now, false
	}
}

// slower doubles the measured gap between writes, which makes the lane narrower.
func (p *pace) slower() { p.gap *= 2 }

// expires returns for how long the pace can still be used: 0 or less means that it is too old.
func (p *pace) expires(now func() time.Time) time.Duration {
	if p.last.IsZero() {
		return 0
	}
	return lingers - now().Sub(p.last)
}

// width returns the number of writes that should be in flight at the same time: the write that the
// API server processes, the writes that it processes within one round-trip time, and up to one
// more, because writes arrive unevenly. A fraction of 0.45 or more is rounded up. One write too
// many causes conflicts between writes, and one write too few leaves the API server idle.
func (p *pace) width(now time.Time, trip time.Duration) int {
	if p.seen < few {
		return 1
	}
	// If no write has ended for a long time, the API server has become slower.
	gap := max(p.gap, now.Sub(p.last)/stalled, time.Microsecond)
	onTheWay := float64(trip) / float64(gap)
	return min(1+int(onTheWay+min(onTheWay, 1)+0.55), widest)
}

// stalled is the number of gaps without an ended write after which the API server counts as slower.
const stalled = 4
