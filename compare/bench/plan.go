package bench

import (
	"cmp"
	"math"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// Names of the profiles of a run. A run whose cells the user has selected has the profile Custom.
const (
	Quick       = "quick"
	Review      = "review"
	Performance = "performance"
	Custom      = "custom"
)

// Profiles are the names of the profiles that decided.yaml has a plan for.
var Profiles = []string{Quick, Review, Performance}

// Plan returns the cells of one of the Profiles, and the cell of the negative controls.
func Plan(c compare.Catalogue, profile string) []results.PlannedCell {
	var plan []results.PlannedCell
	for _, d := range decided.Now.Profiles[profile] {
		s := Sweep{
			Writers: d.Writers, Processes: d.Processes, Objects: d.Objects, Managers: d.Managers, Trials: d.Blocks,
			Warmup: d.Warmup.Duration, Duration: d.Duration.Duration,
		}
		for _, rtt := range d.RTT {
			s.RTT = append(s.RTT, rtt.Duration)
		}
		for _, name := range d.Workloads {
			w, found := c.Workload(name)
			if !found {
				continue // a catalogue of the user's may lack it
			}
			arms := d.Arms
			if len(arms) == 0 {
				arms = w.Arms
			}
			for _, cell := range s.cells(w, arms) {
				cell.AA, cell.Rounds = d.AA, min(cell.Rounds, cmp.Or(d.Rounds, math.MaxInt))
				if d.Blocks == 0 {
					cell.Pilot, cell.Blocks = true, decided.Now.Power.Most
				}
				plan = append(plan, cell)
			}
		}
	}
	return append(plan, controls(c)...)
}

// planned returns a cell in which missing parameters are set from the workload's defaults.
func planned(w compare.Workload, p compare.Parameters) results.PlannedCell {
	d := w.Defaults
	filled := compare.Parameters{
		Writers: cmp.Or(p.Writers, d.Writers, 1), Processes: cmp.Or(p.Processes, d.Processes, 1),
		Objects: cmp.Or(p.Objects, d.Objects, 1), Managers: cmp.Or(p.Managers, d.Managers, 1), RTT: cmp.Or(p.RTT, d.RTT),
		Rate: cmp.Or(p.Rate, d.Rate), Rounds: cmp.Or(p.Rounds, d.Rounds), Warmup: p.Warmup, Duration: p.Duration,
	}
	if filled.Rounds > 0 {
		filled.Warmup, filled.Duration = 0, 0
	}
	return results.PlannedCell{Cell: compare.Cell{Workload: w.Name, Parameters: filled}}
}

// gridWorkload is the workload of the negative controls.
const gridWorkload = "hot-object"

// controls returns the cell with the negative controls. Every run has this cell, to check that the oracle finds lost updates.
func controls(c compare.Catalogue) []results.PlannedCell {
	w, found := c.Workload(gridWorkload)
	if !found {
		return nil
	}
	cell := planned(w, compare.Parameters{Writers: 4, Managers: 4, Warmup: 200 * time.Millisecond, Duration: 500 * time.Millisecond})
	cell.Control, cell.Blocks = true, 2
	for _, arm := range c.Arms {
		if arm.Control {
			cell.Arms = append(cell.Arms, arm.Name)
		}
	}
	if len(cell.Arms) == 0 {
		return nil
	}
	return []results.PlannedCell{cell}
}
