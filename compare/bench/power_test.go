package bench

import (
	"math"
	"testing"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// TestPilot: the noisier the pilot, the more blocks.
func TestPilot(t *testing.T) {
	power := decided.Now.Power
	for _, test := range []struct {
		name  string
		noise float64 // the standard deviation of the log ratios, about
		want  func(int) bool
	}{
		{"no noise", 0, func(n int) bool { return n == power.Least }},
		{"some noise", 0.17, func(n int) bool { return n > power.Least && n < power.Most }},
		{"much noise", 1, func(n int) bool { return n == power.Most }},
	} {
		first := pilot{}
		for block := range power.Pilot {
			sign := float64(1 - 2*(block%2))
			first.add(0, landed("ssa", block, 1000))
			first.add(0, landed("apply", block, 1000*math.Exp(sign*test.noise)))
		}
		first.add(0, landed("apply", power.Pilot, 1)) // not of the pilot
		if n := first.blocks(0); !test.want(n) {
			t.Errorf("%s: %d blocks", test.name, n)
		}
	}
}

func landed(arm string, block int, perSecond float64) results.Trial {
	return results.Trial{
		Cell: compare.Cell{Workload: "hot-object"}, Arm: arm, Block: block, Measured: time.Second,
		Timed: results.Counts{Intents: int(perSecond), Landed: int(perSecond)},
	}
}
