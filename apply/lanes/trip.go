package lanes

import (
	"context"
	"time"
)

// roundTrip measures how long a request is on its way to the API server and back: the least of
// the last few measurements counts, as the server may have been busy during others.
type roundTrip struct {
	measured [4]measurement
	next     int
	again    time.Time // when it is measured next
	asking   bool
	refused  bool
}

type measurement struct {
	took  time.Duration
	until time.Time // after this time the measurement is ignored
}

const (
	between    = 150 * time.Millisecond // the least time between measurements while writers wait
	rare       = 60                     // and the least multiple of what a measurement takes, as the lane is empty meanwhile
	recently   = 6 * time.Second        // the minimum time for which a measurement is used
	lasting    = 2                      // and the minimum multiple of the pause before the next measurement
	failedFor  = 10 * time.Second
	refusedFor = 10 * time.Minute
)

// ProbeTimeout limits each of two waits of a measurement: the wait until no writer is inside the lane, and the wait
// for the server's response.
const ProbeTimeout = time.Second

// least returns the round trip, 0 if it is not known.
func (r *roundTrip) least(now time.Time) (took time.Duration) {
	for _, m := range &r.measured {
		if !now.After(m.until) && (took == 0 || m.took < took) {
			took = m.took
		}
	}
	return took
}

// Probe is a measurement of the round trip. Wait with Quiet, send a request, and then end the
// measurement by Answered, Failed or Refused.
//
// The lane lets nobody in until the measurement has ended. Beside writes, which keep a small
// server busy, the request would take longer than the round trip: the lane would become too
// wide, and writes would overtake each other.
type Probe struct {
	lane  *lane
	quiet chan struct{} // closed when nobody is inside any more
	began time.Time
}

// Measure returns a Probe if the round trip to the API server is to be measured now, by a
// request that costs the server next to nothing: if others are in the lane or wait for it, and
// the last measurement is old enough. Otherwise it returns nil.
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

// Quiet waits until nobody is inside the lane. After an error the probe has failed.
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

// Answered ends the measurement with the server's answer.
func (p *Probe) Answered() {
	now := time.Now()
	took := max(now.Sub(p.began), 1)
	pause := max(between, rare*took)
	p.end(now.Add(pause), func(r *roundTrip) {
		r.measured[r.next] = measurement{took: took, until: now.Add(max(recently, lasting*pause))}
		r.next = (r.next + 1) % len(r.measured)
	})
}

// Failed ends the measurement without a result.
func (p *Probe) Failed() {
	p.end(time.Now().Add(failedFor), func(*roundTrip) {})
}

// Refused ends the measurement because the request is not allowed: the next one is minutes
// later. It reports whether this is the first refusal.
func (p *Probe) Refused() (first bool) {
	p.end(time.Now().Add(refusedFor), func(r *roundTrip) {
		first = !r.refused
		r.refused = true
	})
	return first
}

// end notes the result and lets in the visits that have waited meanwhile.
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

// unlessBusy begins the measurement once nobody is inside.
func (p *Probe) unlessBusy() {
	if len(p.lane.inside) == 0 {
		select {
		case <-p.quiet:
		default:
			close(p.quiet)
		}
	}
}

// pace measures how fast the joint writes of a lane are done, and so how many of them keep the
// server busy.
//
// One write at a time leaves the server idle for as long as an answer and the next request
// are on their way. The server always has one to do if beside it as many are under way as
// it does in the time of a round trip: the product of bandwidth and delay.
type pace struct {
	gap     time.Duration // from the end of one write to that of the next, smoothed; 0: not known yet
	last    time.Time     // when a write was done last
	seen    int32         // how many gaps, up to smooth
	running bool          // the time since last is part of a gap
}

const (
	smooth = 12 // how many gaps are averaged
	few    = 4  // fewer gaps give no width yet

	// widest is more than the field managers of most objects, and bounds what a wrong
	// measurement can do.
	widest = 16
)

// completed counts a joint write that is done.
func (p *pace) completed(now time.Time) {
	if p.running {
		if p.seen < smooth {
			p.seen++
		}
		p.gap += (now.Sub(p.last) - p.gap) / time.Duration(p.seen)
	}
	p.last, p.running = now, true
}

// pause leaves the time until the next write is done out of the gaps.
func (p *pace) pause() { p.running = false }

// resume says that nobody could write until now: the next write that is done ends no gap either.
func (p *pace) resume(now time.Time) {
	if !p.last.IsZero() {
		p.last, p.running = now, false
	}
}

// slower makes the lane narrower, for a server that is overloaded.
func (p *pace) slower() { p.gap *= 2 }

// expires returns how long the pace is still worth remembering.
func (p *pace) expires(now func() time.Time) time.Duration {
	if p.last.IsZero() {
		return 0
	}
	return lingers - now().Sub(p.last)
}

// width returns how many writes are to be under way at a time: one that the server does, those
// that it does in the time of a round trip, and, as they do not arrive evenly, up to one more
// that is ready. It is rounded up from 0.45: one more than is needed makes writes overtake each
// other, one less leaves the server idle.
func (p *pace) width(now time.Time, trip time.Duration) int {
	if p.seen < few {
		return 1
	}
	// A server that stalls is as slow as it has been silent.
	gap := max(p.gap, now.Sub(p.last)/stalled, time.Microsecond)
	onTheWay := float64(trip) / float64(gap)
	return min(1+int(onTheWay+min(onTheWay, 1)+0.55), widest)
}

// stalled is how many gaps a silence lasts before it counts as a slower server.
const stalled = 4
