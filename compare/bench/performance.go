package bench

import (
	"cmp"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

var (
	plainAndOurs = []string{"ssa", "apply"}
	// widths has, in addition, the arms whose lanes have a fixed width. The best of them shows what the automatic width could reach.
	widths = slices.Concat(plainAndOurs, []string{"apply-1", "apply-2", "apply-3", "apply-4"})
	trips  = []time.Duration{0, 1 * ms, 5 * ms, 20 * ms}
)

// performance has the cells of the profile Performance. With 64 writers of one Deployment an intent may take more than 20 s,
// which is why the trials for the tail latency take 30 s.
var performance = []Sweep{
	{Workloads: []string{gridWorkload}, Arms: plainAndOurs, Writers: []int{1}, RTT: trips},
	{Workloads: []string{gridWorkload}, Arms: widths, Writers: []int{4, 16}, RTT: trips},
	{Workloads: []string{gridWorkload}, Arms: slices.Concat(widths, []string{"update", "gmu-lanes"}), Writers: []int{64}, RTT: trips},
	{Workloads: []string{"hot-object-2kb", "hot-object-20kb"}, Arms: plainAndOurs, Writers: []int{1}},
	{Workloads: []string{"hot-deployment"}, Arms: plainAndOurs, Writers: []int{1}, Duration: 4 * time.Second},
	{Workloads: []string{"hot-deployment"}, Arms: slices.Concat(plainAndOurs, []string{"gmu-unbounded"}), Writers: []int{64}, Duration: 30 * time.Second},
	{Workloads: []string{"hot-deployment"}, Arms: plainAndOurs, Writers: []int{16}, Processes: []int{1, 4, 16}, Duration: 8 * time.Second},
	{Workloads: []string{"hot-deployment"}, Arms: plainAndOurs, Writers: []int{64}, Processes: []int{4}, Duration: 8 * time.Second},
	{Workloads: []string{"hot-deployment"}, Arms: plainAndOurs, Writers: []int{64}, Objects: []int{64}, Duration: 8 * time.Second},
}

func performancePlan(c compare.Catalogue) (plan []results.PlannedCell) {
	for _, s := range performance {
		s.Trials, s.Warmup, s.Duration = judgedBlocks, time.Second, cmp.Or(s.Duration, 1500*ms)
		for _, name := range s.Workloads {
			if w, found := c.Workload(name); found {
				plan = append(plan, s.cells(w, s.Arms)...)
			}
		}
	}
	return append(plan, quickShape.controls(c)...)
}
