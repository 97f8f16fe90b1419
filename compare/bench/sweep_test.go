package bench

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// What flags say that cannot be, or that would be measured as something else than was meant.
func TestSweepRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Sweep)
		set    string // flags, separated by blanks
		want   string
	}{
		{"a workload twice", func(s *Sweep) { s.Workloads = []string{"ten-reconcilers", "ten-reconcilers"} }, "", "--workload has ten-reconcilers twice"},
		{"a number twice", func(s *Sweep) { s.Writers = []int{4, 8, 4} }, "", "--writers has 4 twice"},
		{"a round trip twice", func(s *Sweep) { s.RTT = []time.Duration{1e6, 1e6} }, "", "--rtt has 1ms twice"},
		{"a rate that is no number", func(s *Sweep) { s.Rate = math.NaN() }, "", "--rate NaN"},
		{"two ends", func(s *Sweep) { s.Rounds = 3 }, "rounds duration", "a trial ends after 3 rounds, so --warmup and --duration have no effect"},
		{"another end than the workload's", func(s *Sweep) { s.Workloads = []string{"ten-reconcilers"} }, "warmup", "ends after 20 rounds, so --warmup"},
		{"a rate where the workload counts", func(s *Sweep) { s.Workloads, s.Rate = []string{"ten-reconcilers"}, 5 }, "rate", "leave --rate out"},
	} {
		s := Sweep{Workloads: []string{"hot-object"}, Trials: 6, Duration: time.Second}
		test.change(&s)
		_, err := s.Plan(catalogue(), func(flag string) bool { return slices.Contains(strings.Fields(test.set), flag) })
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}
