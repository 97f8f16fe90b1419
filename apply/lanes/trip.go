package lanes

import (
	"context"
	"time"
)

// roundTrip is how long a request is on its way to the API server and back, at least: the
// least of what was measured within a moment, as the server may have been busy.
type roundTrip struct {
	measured [8]measurement
	next     int
	again    time.Time // when it is measured next
	asking   bool
	refused  bool
}

type measurement struct {
	took time.Duration
	at   time.Time
}

const (
	between  = 125 * time.Millisecond // measurements, while writers wait
	recently = time.Second            // what was measured before is no longer true
	// ProbeTimeout is how long a round trip may take.
	ProbeTimeout = time.Second
	refusedFor   = 10 * time.Minute
)

// least is 0 if nothing is known.
func (r *roundTrip) least(now time.Time) (took time.Duration) {
	for _, m := range r.measured {
		if m.took > 0 && now.Sub(m.at) <= recently && (took == 0 || m.took < took) {
			took = m.took
		}
	}
	return took
}

// Probe is a measurement of the round trip, which ends by one of its methods.
type Probe struct {
	set   *Set
	began time.Time
}

// Measure returns a Probe where the round trip to the API server is to be measured now, by
// a request that costs the server next to nothing: when others are in the lane, or wait for
// it, and it was not measured a moment ago. Else it is nil.
func Measure(inside context.Context) *Probe {
	v := visitOf(inside)
	if v == nil || v.set.fixed > 0 {
		return nil
	}
	s := v.set
	s.mu.Lock()
	defer s.mu.Unlock()
	l := v.lane
	if v.left.Load() || v.alone || l.inside.len+l.waiting.len < 2 || s.trip.asking {
		return nil
	}
	now := time.Now()
	if now.Before(s.trip.again) {
		return nil
	}
	s.trip.asking = true
	return &Probe{set: s, began: now}
}

// Answered says that the server has answered.
func (p *Probe) Answered() {
	now := time.Now()
	p.end(now.Add(between), func(r *roundTrip) {
		r.measured[r.next] = measurement{took: max(now.Sub(p.began), 1), at: now}
		r.next = (r.next + 1) % len(r.measured)
	})
}

// Failed says that no answer came, or none that tells anything.
func (p *Probe) Failed() {
	p.end(time.Now().Add(between), func(*roundTrip) {})
}

// Refused says that the request is not allowed: it is not repeated for some minutes. It reports whether
// that is the first time.
func (p *Probe) Refused() (first bool) {
	p.end(time.Now().Add(refusedFor), func(r *roundTrip) {
		first = !r.refused
		r.refused = true
	})
	return first
}

func (p *Probe) end(again time.Time, note func(*roundTrip)) {
	p.set.mu.Lock()
	defer p.set.mu.Unlock()
	p.set.trip.asking, p.set.trip.again = false, again
	note(&p.set.trip)
}
