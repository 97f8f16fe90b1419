package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func equal(*rand.Rand) float64 { return 1 }

func exponential(r *rand.Rand) float64 { return r.ExpFloat64() }

// racing is W = 3 ms, a = 1.5 ms on a machine that is never busy.
func racing(writers int, s spread) scene {
	return scene{
		costs: costs{arrive: 1.5, merge: 3, reads: s, writes: s}, writers: writers, policy: policies["gmu-default-retry"],
		cores: math.Inf(1), warmup: 500, duration: 20_000, steady: true, seed: 1,
	}
}

// TestAgainstTable holds the simulator against another one of the same case, whose results stand in the table.
func TestAgainstTable(t *testing.T) {
	for _, row := range table {
		for _, shape := range []struct {
			name string
			spread
			goodput float64
		}{{"equal", equal, row.equal}, {"lognormal", lognormal(0.5), row.lognormal}, {"exponential", exponential, row.exponential}} {
			s := racing(row.writers, shape.spread)
			if row.backoff == 0 {
				s.policy.backoff = func(int, *rand.Rand) float64 { return 0 }
			}
			p := s.predict(1)
			if math.Abs(p.goodput/shape.goodput-1) > 0.05 {
				t.Errorf("%d writers, backoff %d ms, %s: %.4g/s, want %.4g", row.writers, row.backoff, shape.name, p.goodput, shape.goodput)
			}
			if shape.name == "lognormal" && (math.Abs(p.giveUps-row.giveUps) > 0.02 || math.Abs(p.stale-row.stale) > 0.02) {
				t.Errorf("%d writers, backoff %d ms: gave up %.3f, want %.3f; stale %.3f, want %.2f",
					row.writers, row.backoff, p.giveUps, row.giveUps, p.stale, row.stale)
			}
		}
	}
}

// anyScene draws a trial with an arm of each kind.
func anyScene(t *rapid.T) scene {
	ms := rapid.Float64Range(0.1, 4)
	arm := rapid.SampledFrom([]string{"gmu", "gmu-default-retry", "gmu-unbounded", "gmu-lanes", "ssa"}).Draw(t, "arm")
	return scene{
		costs: costs{
			arrive: ms.Draw(t, "arrive"), deliver: ms.Draw(t, "deliver"), merge: ms.Draw(t, "merge"), commit: ms.Draw(t, "commit"),
			answer: ms.Draw(t, "answer"), again: ms.Draw(t, "again"), behind: ms.Draw(t, "behind"),
			reads: lognormal(0.4), writes: lognormal(rapid.Float64Range(0, 1).Draw(t, "variation")),
		},
		writers: rapid.IntRange(1, 20).Draw(t, "writers"), policy: policies[arm], rtt: rapid.Float64Range(0, 10).Draw(t, "rtt"),
		cores: rapid.Float64Range(1, 8).Draw(t, "cores"), warmup: 100, duration: 500, steady: true,
		seed: rapid.Uint64().Draw(t, "seed"),
	}
}

// TestLaws: attempts are stale or land, in lanes nothing is stale, and the same trial is the same every time.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScene(t)
		o := s.simulate()
		if again := s.simulate(); again != o {
			t.Fatalf("another time: %+v, then %+v", o, again)
		}
		// Who has won is in flight until its answer arrives.
		if won := o.attempts - o.stale; math.Abs(float64(won-o.landed)) > float64(s.writers) {
			t.Errorf("%d of %d attempts won, %d landed", won, o.attempts, o.landed)
		}
		if s.policy.lanes && o.stale > 0 {
			t.Errorf("%d stale writes in lanes", o.stale)
		}
		if s.writers == 1 && o.stale > 0 && !s.policy.applies {
			t.Errorf("%d stale writes of one writer", o.stale)
		}
	})
}

// TestLittlesLaw: writers are intents by time, times the time of an intent.
func TestLittlesLaw(t *testing.T) {
	for _, arm := range []string{"gmu", "gmu-default-retry", "gmu-lanes", "ssa"} {
		for _, writers := range []int{1, 5, 20} {
			s := racing(writers, lognormal(0.5))
			s.cores, s.rtt, s.policy = 2, 3, policies[arm]
			if busy := s.simulate().spent / s.duration; math.Abs(busy/float64(writers)-1) > 0.01 {
				t.Errorf("%s: %d writers, but intents took %.3f at any time", arm, writers, busy)
			}
		}
	}
}

// TestBandHolds: whatever the shape of the window, between 1 and 1 + ln n attempts of n are of use at once, but for the
// time that they take before they read.
func TestBandHolds(t *testing.T) {
	for _, writers := range []int{8, 16, 64} {
		for name, shape := range map[string]spread{"equal": equal, "lognormal": lognormal(0.5), "exponential": exponential} {
			s := racing(writers, shape)
			s.policy.backoff = func(int, *rand.Rand) float64 { return 0 } // so that they race all the time
			p := s.predict(1)
			if point := (armModel{}).point(p, place{writers: writers}); point.Goodput < 0.6*point.BandLo || point.Goodput > point.BandHi {
				t.Errorf("%d writers, %s: %.4g/s is outside of %.4g to %.4g", writers, name, point.Goodput, point.BandLo, point.BandHi)
			}
		}
	}
}

// TestBandInLanes: nobody races there.
func TestBandInLanes(t *testing.T) {
	m := armModel{policy: policies["gmu-lanes"]}
	if point := m.point(prediction{window: 4}, place{writers: 16}); point.BandLo != 250 || point.BandHi != 250 {
		t.Errorf("%v to %v, want 250", point.BandLo, point.BandHi)
	}
}

// TestMoreWritersGiveUpMore, and one alone never does.
func TestMoreWritersGiveUpMore(t *testing.T) {
	before := 0.0
	for _, writers := range []int{1, 2, 4, 8, 16, 32, 64, 128} {
		s := racing(writers, lognormal(0.5))
		s.cores = 2
		p := s.predict(1)
		if writers == 1 && p.giveUps != 0 {
			t.Errorf("one writer alone gave up %.3f", p.giveUps)
		}
		if p.giveUps < before {
			t.Errorf("%d writers give up %.3f, half of them %.3f", writers, p.giveUps, before)
		}
		before = p.giveUps
	}
	if before < 0.5 {
		t.Errorf("of 128 writers only %.3f give up", before)
	}
}

// TestRoundTrip: one more request is one more round trip, and only get-modify-update is overtaken during it.
func TestRoundTrip(t *testing.T) {
	alone := racing(1, equal)
	alone.cores = 2
	for arm, trips := range map[string]float64{"gmu-default-retry": 2, "ssa": 1, "gmu-lanes": 2} {
		near := alone
		near.policy = policies[arm]
		far := near
		far.rtt = 20
		if added := 1000/far.predict(1).goodput - 1000/near.predict(1).goodput; math.Abs(added-20*trips) > 0.2 {
			t.Errorf("%s: 20 ms of round trip added %.3g ms, want %v", arm, added, 20*trips)
		}
	}
	crowd := racing(8, lognormal(0.5))
	crowd.cores, crowd.policy = math.Inf(1), policies["ssa"]
	near, farAway := crowd.predict(1), crowd
	farAway.rtt = 20
	if far := farAway.predict(1); far.stale > near.stale || math.Abs(far.window/near.window-1) > 0.1 {
		t.Errorf("Server-Side Apply: window %.3g ms near and %.3g ms far", near.window, far.window)
	}
}

// TestTimeout: the server does not repeat for ever.
func TestTimeout(t *testing.T) {
	s := scene{
		costs: costs{arrive: 1, merge: 100, reads: equal, writes: equal}, writers: 200, policy: policies["ssa"], cores: 1,
		warmup: 35_000, duration: 60_000, steady: true, seed: 1,
	}
	if o := s.simulate(); o.gaveUp == 0 {
		t.Errorf("nobody timed out: %+v", o)
	}
}
