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
	if v.left.Load() || v.alone || l.inside.len+l.waiting.len < 2 || s.trip.asking || time.Now().Before(s.trip.again) {
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
	if l.admit(nil); l.inside.len == 0 {
		l.rest()
	}
}

// unlessBusy begins the measurement once nobody is inside.
func (p *Probe) unlessBusy() {
	if p.lane.inside.len == 0 {
		select {
		case <-p.quiet:
		default:
			close(p.quiet)
		}
	}
}
