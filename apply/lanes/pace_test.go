package lanes

import (
	"testing"
	"testing/synctest"
	"time"
)

const ms = time.Millisecond

// TestPaceWidth: one write that the server does, and those that it does in the time of a round trip.
func TestPaceWidth(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		reason       string
		seen         int32
		gap          time.Duration
		silent, trip time.Duration
		want         int
	}{
		{"the round trip is not known", smooth, 4 * ms, 0, 0, 1},
		{"too few gaps", few - 1, 4 * ms, 0, 8 * ms, 1},
		{"just enough gaps: one, two on the way, one more", few, 4 * ms, 0, 8 * ms, 4},
		{"next to nothing is on the way", smooth, 100 * ms, 0, 22 * ms, 1},
		{"half a write is on the way", smooth, 100 * ms, 0, 23 * ms, 2},
		{"a long way, and no more than the widest", smooth, 4 * ms, 0, time.Second, widest},
		{"a silence that is chance", smooth, 4 * ms, stalled * 4 * ms, 8 * ms, 4},
		{"a server that stalls", smooth, 4 * ms, stalled * 8 * ms, 8 * ms, 3},
		{"no time at all between two", smooth, 1, 0, time.Microsecond, 3},
	} {
		p := pace{gap: test.gap, seen: test.seen, last: now.Add(-test.silent)}
		if got := p.width(now, test.trip); got != test.want {
			t.Errorf("%s: %d, want %d", test.reason, got, test.want)
		}
	}
}

// TestPaceIsSmoothed: the gap is the mean of the first few, then moves by a twelfth, and what is no gap does not count.
func TestPaceIsSmoothed(t *testing.T) {
	var p pace
	now := time.Now()
	p.resume(now) // nothing was ever done
	done := func(after time.Duration) { now = now.Add(after); p.completed(now) }
	for _, step := range []struct {
		reason string
		do     func()
		want   time.Duration
	}{
		{"one is no gap", func() { done(time.Hour) }, 0},
		{"the first", func() { done(2 * ms) }, 2 * ms},
		{"the mean of two", func() { done(4 * ms) }, 3 * ms},
		{"the last twelve", func() {
			p = pace{}
			for range 2 * smooth {
				done(12 * ms)
			}
		}, 12 * ms},
		{"one that is longer", func() { done(24 * ms) }, 13 * ms},
		{"something else came in between", func() { p.running = false; done(time.Hour) }, 13 * ms},
		{"and nothing any more", func() { done(13 * ms) }, 13 * ms},
		{"nobody could write", func() { now = now.Add(time.Hour); p.resume(now); done(time.Minute) }, 13 * ms},
	} {
		if step.do(); p.gap != step.want {
			t.Errorf("%s: the gap is %v, want %v", step.reason, p.gap, step.want)
		}
	}
}

// TestRoundTripIsTheLeastOfTheLastFew: the others had to wait at the server.
func TestRoundTripIsTheLeastOfTheLastFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New()
		for _, step := range []struct{ took, least time.Duration }{
			{5 * ms, 5 * ms}, {3 * ms, 3 * ms}, {7 * ms, 3 * ms}, {8 * ms, 3 * ms}, {9 * ms, 3 * ms}, {9 * ms, 7 * ms},
		} {
			time.Sleep(step.took)
			s.trip.ended(time.Now(), step.took, true, nil)
			if least := s.trip.least(); least != step.least {
				t.Errorf("after %v it is %v, want %v", step.took, least, step.least)
			}
		}
	})
}
