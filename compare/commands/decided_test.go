package commands

import (
	"slices"
	"testing"

	"coapply.dev/compare/bench"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

// TestReviewHasWhatWasDecided: the review measures every cell that is decided on, with the arms that are compared first,
// often enough for a verdict, and no other cell of that workload.
func TestReviewHasWhatWasDecided(t *testing.T) {
	plan := bench.Plan(Catalogue(), bench.Review)
	cells := map[string]results.PlannedCell{}
	for _, cell := range plan {
		if cell.Control {
			continue
		}
		cells[cell.String()] = cell
		if cell.Workload == "hot-object" && cell.Rate == 0 && !slices.Contains(decided.Now.Primary, cell.String()) {
			t.Errorf("%s is measured, and not decided on", cell)
		}
	}
	for _, name := range decided.Now.Primary {
		cell, found := cells[name]
		if !found || cell.Blocks < decided.Now.Trials || !slices.Contains(cell.Arms, decided.Now.Ours) || !slices.Contains(cell.Arms, decided.Now.Plain) {
			t.Errorf("%s: %+v", name, cell)
		}
	}
	for _, s := range decided.Now.Situations {
		known := slices.ContainsFunc(summary.Measures, func(m summary.Measure) bool { return m.Name == s.Measure })
		if cell, found := cells[s.Cell]; !found || cell.Blocks < decided.Now.Trials || !known {
			t.Errorf("%s: %s, %s: %+v", s.Situation, s.Cell, s.Measure, cell)
		}
	}
	for _, loss := range decided.Now.Losses {
		for _, name := range loss.Arms {
			if _, found := Catalogue().Arm(name); !found {
				t.Errorf("there is no arm %s", name)
			}
		}
	}
}

// TestPerformanceIsComplete: the catalogue has each arm and workload of the profile performance.
func TestPerformanceIsComplete(t *testing.T) {
	workloads := map[string]bool{}
	for _, cell := range bench.Plan(Catalogue(), bench.Performance) {
		workloads[cell.Workload] = true
		for _, name := range cell.Arms {
			if _, found := Catalogue().Arm(name); !found {
				t.Errorf("%s: there is no arm %s", cell, name)
			}
		}
	}
	if len(workloads) != 4 {
		t.Errorf("the workloads are %v, want 4", workloads)
	}
}
