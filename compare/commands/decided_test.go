package commands

import (
	"slices"
	"testing"

	"coapply.dev/compare/bench"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// TestReviewHasWhatWasDecided: the review measures every cell of the 2×2 with its four arms, and all names in decided.yaml
// are those of arms and workloads.
func TestReviewHasWhatWasDecided(t *testing.T) {
	catalogue, cells := Catalogue(), map[string]results.PlannedCell{}
	for _, cell := range bench.Plan(catalogue, bench.Review) {
		if !cell.Control {
			cells[cell.String()] = cell
		}
	}
	square := decided.Now.Square
	for _, name := range decided.Now.SquareCells() {
		for _, arm := range []string{square.GMU, square.SSA, square.GMUTurns, square.SSATurns} {
			if cell, found := cells[name]; !found || !cell.Pilot || !slices.Contains(cell.Arms, arm) {
				t.Errorf("%s, %s: %+v", name, arm, cell)
			}
		}
	}
	names := []string{decided.Now.Ours}
	for _, c := range decided.Now.Comparisons {
		names = append(names, c.Arm, c.Against)
	}
	for _, loss := range decided.Now.Losses {
		names = append(names, loss.Arms...)
	}
	for profile, sweeps := range decided.Now.Profiles {
		for _, s := range sweeps {
			names = append(names, s.Arms...)
			for _, name := range s.Workloads {
				if _, found := catalogue.Workload(name); !found {
					t.Errorf("%s: there is no workload %s", profile, name)
				}
			}
		}
	}
	for _, name := range names {
		if _, found := catalogue.Arm(name); !found {
			t.Errorf("there is no arm %s", name)
		}
	}
}
