package model

import (
	"math"
	"testing"
)

// TestSharing: each further piece of work slows all of them down by the same; waiting takes nothing of the processors.
func TestSharing(t *testing.T) {
	for _, pieces := range []int{1, 2, 5} {
		s := &simulation{engine: engine{cores: 2}}
		var ended []float64
		for range pieces {
			s.work(10, &writer{simulation: s}, func(w *writer) { ended = append(ended, w.now) })
			s.wait(3, &writer{simulation: s}, func(*writer) {})
		}
		for s.next(math.Inf(1)) {
			continue
		}
		want := 10 * (1 + float64(pieces-1)/2)
		if len(ended) != pieces || math.Abs(ended[0]-want) > 1e-9 || math.Abs(ended[pieces-1]-want) > 1e-9 {
			t.Errorf("%d pieces of 10 ms ended at %v, want %v", pieces, ended, want)
		}
	}
}

// TestShort work does not wait for long work to end.
func TestShort(t *testing.T) {
	s := &simulation{engine: engine{cores: 1}}
	var ended []float64
	note := func(w *writer) { ended = append(ended, w.now) }
	s.work(10, &writer{simulation: s}, note)
	s.work(2, &writer{simulation: s}, note)
	for s.next(math.Inf(1)) {
		continue
	}
	if len(ended) != 2 || math.Abs(ended[0]-4) > 1e-9 || math.Abs(ended[1]-12) > 1e-9 {
		t.Errorf("10 ms and 2 ms on one processor ended at %v, want 4 and 12", ended)
	}
}

// TestTimed: what lands in the warm-up, or after the end, is not counted as timed.
func TestTimed(t *testing.T) {
	s := racing(1, equal)
	s.steady, s.warmup, s.duration = false, 500, 1000
	if o := s.simulate(); math.Abs(float64(o.landed)-1000/4.5) > 1 || math.Abs(float64(o.ended)-1450/4.5) > 12 {
		t.Errorf("%d landed of %d, at 4.5 ms each in 1 s of 1.5 s", o.landed, o.ended)
	}
}

// TestCache: Server-Side Apply starts from the server's cache, and loses to whatever is not yet in it.
func TestCache(t *testing.T) {
	s := racing(1, equal)
	s.policy = policies["ssa"]
	if o := s.simulate(); o.stale != 0 {
		t.Errorf("alone, with a cache that is up to date: %d stale of %d", o.stale, o.attempts)
	}
	s.behind = 2 // in the next intent's time until it reads
	if o := s.simulate(); o.stale < o.attempts/3 {
		t.Errorf("with a cache that is behind: %d stale of %d", o.stale, o.attempts)
	}
}
