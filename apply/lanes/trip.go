package lanes

import (
	"context"
	"time"
)

// roundTrip contains the last four measurements of the round-trip time to the API server. Only the shortest time is
// used, because the API server may have been busy during the longer measurements.
type roundTrip struct {
	measured [4]measurement
	next     int
	again    time.Time // the time before which no other measurement begins
	asking   bool      // a measurement is in progress now
	refused  bool      // the API server has once refused the request of a measurement
}

type measurement struct {
	took  time.Duration
	until time.Time // when the measurement is too old to be used
}

const (
	between    = 150 * time.Millisecond // the minimum pause between two measurements
	rare       = 60                     // the pause is also at least this many measured round-trip times
	recently   = 6 * time.Second        // the minimum time for which a measurement can be used
	lasting    = 2                      // a measurement can also be used for at least this many pauses
	failedFor  = 10 * time.Second       // the pause after a failed measurement
	refusedFor = 10 * time.Minute       // the pause after a measurement whose request the API server refused
)

// ProbeTimeout limits the wait for the lane to become empty, and the wait for the API server's response. Each
// measurement consists of these two waits.
const ProbeTimeout = time.Second

// least returns the shortest round-trip time among the measurements that are not too old, or 0 if there is none.
func (r *roundTrip) least(now time.Time) (took time.Duration) {
	for _, m := range &r.measured {
		if !now.After(m.until) && (took == 0 || m.took < took) {
			took = m.took
		}
	}
	return took
}

// Probe is one measurement of the round-trip time to the API server. The HTTP transport calls Quiet, sends a request,
// and then calls Answered, Failed or Refused.
//
// Until the measurement has ended, the lane lets no visit in. Otherwise the writes would keep a small API server busy,
// and the request would take longer than the round-trip time. The lane would become too wide, and its writes would
// conflict with each other.
type Probe struct {
	lane  *lane
	quiet chan struct{} // closed when nobody is inside the lane
	began time.Time     // when the request was sent
}

// Measure returns a Probe if the HTTP transport should now measure the round-trip time, and otherwise nil. The argument
// is the context of a request. The transport should measure if other callers of Enter or Join are inside the lane or
// wait, and if the last measurement is long enough ago. The measurement is a request that costs the API server very
// little.
func Measure(inside context.Context) *Probe {
	v := visitOf(inside)
	if v == nil || v.lane.set.fixed > 0 {
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

// Quiet waits until nobody is inside the lane. If ctx ends first, it calls Failed and returns an error.
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

// Answered ends the measurement when the API server has responded: the round-trip time is the time since Quiet
// returned.
func (p *Probe) Answered() {
	now := time.Now()
	took := max(now.Sub(p.began), 1)
	pause := max(between, rare*took)
	p.end(now.Add(pause), func(r *roundTrip) {
		r.measured[r.next] = measurement{took: took, until: now.Add(max(recently, lasting*pause))}
		r.next = (r.next + 1) % len(r.measured)
	})
}

// Failed ends the measurement without a result. The next measurement begins at least 10 seconds later.
func (p *Probe) Failed() {
	p.end(time.Now().Add(failedFor), func(*roundTrip) {})
}

// Refused ends the measurement because the API server does not permit the request. The next measurement begins at least
// 10 minutes later. first reports whether this is the first refusal.
func (p *Probe) Refused() (first bool) {
	p.end(time.Now().Add(refusedFor), func(r *roundTrip) {
		first = !r.refused
		r.refused = true
	})
	return first
}

// end ends the measurement. It calls the given function to store the result, and lets waiting visits into the lane. No
// other measurement begins before the given time.
func (p *Probe) end(again time.Time, note func(*roundTrip)) {
	l := p.lane
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	l.set.trip.asking, l.set.trip.again = false, again
	note(&l.set.trip)
	l.probe = nil
	l.pace.resume(time.Now())
	l.admit(nil)
	l.removeIfEmpty()
}

// unlessBusy makes Quiet return if nobody is inside the lane. Otherwise it does nothing.
func (p *Probe) unlessBusy() {
	if len(p.lane.inside) == 0 {
		select {
		case <-p.quiet:
		default:
			close(p.quiet)
		}
	}
}

// pace measures how fast the joint writes of a lane complete, to compute how many concurrent writes keep the API server
// busy: one write that it processes and, on the network, as many writes as it processes in one round-trip time (the
// bandwidth-delay product).
type pace struct {
	gap     time.Duration // the average time from the end of one write to the end of the next; 0 if not known yet
	last    time.Time     // when the last write ended
	seen    int32         // the number of gaps that were measured, at most smooth
	running bool          // measure the time from last to the end of the next write: it depends only on the API server's speed
}

const (
	smooth = 12 // the number of gaps that have an effect on the average
	few    = 4  // with fewer measured gaps, the width is 1

	// widest is the maximum width. It limits the harm of a wrong measurement.
	widest = 16
)

// completed records the end of a joint write.
func (p *pace) completed(now time.Time) {
	if p.running {
		if p.seen < smooth {
			p.seen++
		}
		p.gap += (now.Sub(p.last) - p.gap) / time.Duration(p.seen)
	}
	p.last, p.running = now, true
}

// resume begins to measure again, after a time in which no write could begin.
func (p *pace) resume(now time.Time) {
	if !p.last.IsZero() {
		p.last, p.running = now, false
	}
}

// width returns the best number of writes in flight for the given round-trip time. Up to one more write is added,
// because writes arrive unevenly. A fraction of 0.45 or more is rounded up.
func (p *pace) width(now time.Time, trip time.Duration) int {
	if p.seen < few {
		return 1
	}
	// If no write has ended for a long time, the API server has become slower.
	gap := max(p.gap, now.Sub(p.last)/stalled, time.Microsecond)
	onTheWay := float64(trip) / float64(gap)
	return min(1+int(onTheWay+min(onTheWay, 1)+0.55), widest)
}

// stalled is a multiple of the average gap. If no write ends for longer than this, the API server has become slower.
const stalled = 4
