package model

import (
	"math"
	"math/rand/v2"
)

// costs of one attempt, in milliseconds of work as they are for a writer alone.
type costs struct {
	// arrive is until the object is read. With get-modify-update deliver follows it: the rest of the GET and the change.
	arrive, deliver float64
	// merge is until the server compares versions for the first time, commit from there until the store does so again,
	// and answer what follows. By Server-Side Apply, the server merges again when it lost the race. Who lost it by
	// get-modify-update is refused, after the share refused of the rest, and again: what managers cost once more.
	merge, commit, answer, refused, again float64
	// behind is what a landed write costs beside its request; then the server's cache has it. The first attempt of
	// Server-Side Apply starts from that cache.
	behind float64
	// reads and writes are the spread of the times of a request around 1.
	reads, writes spread
}

// spread draws a factor; its mean is 1.
type spread func(*rand.Rand) float64

// scene is what a simulated trial is made of. Times are in milliseconds.
type scene struct {
	costs

	writers          int
	policy           policy
	rtt              float64 // added to each request, half before it and half after
	cores            float64
	warmup, duration float64
	// steady counts what happens while it is timed; otherwise all is counted but what landed, as in a real trial, and what
	// is under way at the end is waited for.
	steady bool
	seed   uint64
}

// outcome of a simulated trial.
type outcome struct {
	landed          int // while timed
	ended, gaveUp   int // intents
	attempts, stale int
	window          float64 // sum over the attempts, from read to check
	spent           float64 // sum over the timed intents that ended
}

// timeout is when an API server ends a request; Server-Side Apply repeats until then.
const timeout = 34_000

// startSpread is how far apart the writers of a trial begin at most, in milliseconds.
const startSpread = 100

// simulation is one object with its writers.
type simulation struct {
	scene
	engine

	random  *rand.Rand
	version int
	cached  int // version in the server's cache
	taken   bool
	queue   []*writer // for the lane
	outcome outcome
}

// simulate runs a trial.
func (sc scene) simulate() outcome {
	s := &simulation{scene: sc, engine: engine{cores: sc.cores}, random: rand.New(rand.NewPCG(sc.seed, uint64(sc.writers)))}
	for range sc.writers {
		w := &writer{simulation: s}
		s.wait(s.random.Float64()*min(startSpread, s.warmup), w, (*writer).begin)
	}
	end := math.Inf(1)
	if s.steady {
		end = s.warmup + s.duration
		s.wait(s.warmup, &writer{simulation: s}, func(w *writer) { w.outcome = outcome{} })
	}
	for s.next(end) {
		continue // without an end, the last intent is it: none begins after the trial
	}
	return s.outcome
}

// timed says that it is between warm-up and end.
func (s *simulation) timed() bool { return s.now >= s.warmup && s.now < s.warmup+s.duration }
