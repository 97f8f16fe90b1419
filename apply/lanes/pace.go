package lanes

import "time"

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
