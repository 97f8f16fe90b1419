package lanes

import (
	"context"
	"time"
)

// roundTrip contains the last four measurements of the round-trip time to the API server. Only the shortest time is
// used, because the API server may have been busy during the longer measurements.
type roundTrip struct {
	measured [4]time.Duration // 0 for a measurement that was not made yet
	next     int
	again    time.Time // the time before which no other measurement begins
	asking   bool      // a measurement is in progress now
}

const (
	between    = 150 * time.Millisecond // the minimum pause between two measurements
	rare       = 60                     // the pause is also at least this many times the measured round-trip time
	failedFor  = 10 * time.Second       // the pause after a failed measurement
	refusedFor = 10 * time.Minute       // the pause after a measurement whose request the API server refused
)

// ProbeTimeout limits how long a measurement waits for the earlier writes to the object to end. It also limits how long
// the measurement then waits for the API server's response.
const ProbeTimeout = time.Second

// least returns the shortest of the measured round-trip times, or 0 if there is none.
func (r *roundTrip) least() (least time.Duration) {
	for _, took := range r.measured {
		if least == 0 || took > 0 && took < least {
			least = took
		}
	}
	return least
}

// Measure measures the round-trip time in the background if other callers of Enter or Join are inside the lane or wait for
// it, and if the last measurement is old enough. The HTTP transport calls Measure with the context of a request. The
// function ping must send a request that costs the API server very little, and wait for the response. It reports whether
// the API server permits the request.
//
// The measurement begins when nobody is inside the lane, and nobody enters the lane before the measurement has ended.
// Otherwise the writes would keep a small API server busy, and the request would take longer than the round-trip time.
// The lane would become too wide, and its writes would conflict with each other.
func Measure(inside context.Context, ping func(context.Context) (permitted bool, err error)) {
	v := visitOf(inside)
	if v == nil || v.left.Load() || v.lane.set.fixed > 0 {
		return
	}
	l, trip := v.lane, &v.lane.set.trip
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	if v.left.Load() || v.alone || len(l.inside)+len(l.waiting) < 2 || trip.asking || time.Now().Before(trip.again) {
		return
	}
	trip.asking, l.empty = true, make(chan struct{}, 1)
	go l.measure(l.empty, ping) //nolint:gosec // the measurement may take longer than the request
}

// measure waits until nobody is inside the lane, and measures how long ping takes. Then it lets waiting visits in.
func (l *lane) measure(empty <-chan struct{}, ping func(context.Context) (permitted bool, err error)) {
	took, permitted, err := time.Duration(0), true, context.DeadlineExceeded
	select {
	case <-empty:
		ctx, cancel := context.WithTimeout(context.Background(), ProbeTimeout)
		defer cancel()
		began := time.Now()
		permitted, err = ping(ctx)
		took = max(time.Since(began), 1)
	case <-time.After(ProbeTimeout):
	}
	l.set.mu.Lock()
	defer l.set.mu.Unlock()
	l.set.trip.ended(time.Now(), took, permitted, err)
	l.empty = nil
	l.pace.resume(time.Now())
	l.admit(nil)
	l.removeIfEmpty()
}

// ended records the result of a measurement, and determines when the next measurement may begin.
func (r *roundTrip) ended(now time.Time, took time.Duration, permitted bool, err error) {
	pause := failedFor
	switch {
	case !permitted:
		pause = refusedFor
	case err == nil:
		pause = max(between, rare*took)
		r.measured[r.next] = took
		r.next = (r.next + 1) % len(r.measured)
	}
	r.asking, r.again = false, now.Add(pause)
}

// pace measures how fast the joint writes of a lane complete. From this, width computes how many concurrent writes keep
// the API server busy: one that it processes, and as many on the network as it processes in one round-trip time (the
// bandwidth-delay product).
type pace struct {
	gap     time.Duration // the average time from the end of one write to the end of the next; 0 if not known yet
	last    time.Time     // when the last write ended
	seen    int32         // the number of gaps that were measured, at most smooth
	running bool          // the time from last to the end of the next write is a gap: it depends only on the API server's speed
}

const (
	smooth = 12 // the average is that of about this many of the last gaps
	few    = 4  // with fewer measured gaps, the width is 1

	// If no write has ended for stalled average gaps, width assumes that the API server has become slower.
	stalled = 4

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

// width returns the best number of writes in flight: 1 + trip/gap, plus a reserve of trip/gap or 1, whichever is less,
// because writes arrive unevenly. It rounds the sum up if its fraction is at least 0.45. The maximum is widest.
func (p *pace) width(now time.Time, trip time.Duration) int {
	if p.seen < few {
		return 1
	}
	gap := max(p.gap, now.Sub(p.last)/stalled, time.Microsecond)
	onTheWay := float64(trip) / float64(gap)
	return min(1+int(onTheWay+min(onTheWay, 1)+0.55), widest)
}
