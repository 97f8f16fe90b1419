package bench

import (
	"cmp"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// Names of the profiles of a run. A run whose cells the user has selected has the profile Custom.
const (
	Quick       = "quick"
	Review      = "review"
	Performance = "performance"
	Custom      = "custom"
)

// Profiles are the names of the profiles that have a plan.
var Profiles = []string{Quick, Review, Performance}

// Plan returns the plan of one of the Profiles.
//   - The plan of Quick has every workload and takes less than three minutes. Only one cell has enough trials for intervals.
//   - The plan of Review, for a design review, takes three quarters of an hour.
//   - The plan of Performance takes an hour. It compares coapply's arm with plain Server-Side Apply.
func Plan(c compare.Catalogue, profile string) []results.PlannedCell {
	switch profile {
	case Quick:
		return quickPlan(c)
	case Review:
		return reviewShape.plan(c)
	case Performance:
		return performancePlan(c)
	}
	return nil
}

// Groups of arms for the cells of the grid.
var (
	// core has the arms of every cell.
	core = []string{"gmu-default-retry", "update", "ssa", "apply"}
	// queued has the arms of core, and the arm gmu-requeue, which retries stale writes through a controller's queue.
	queued = slices.Concat(core, []string{"gmu-requeue"})
	// lanes has the arms for 16 or 64 writers in one process. It lacks gmu-requeue, in which each writer is a controller:
	// nobody runs that many controllers for one object in one process. Only one cell adds gmu-requeue.
	lanes = slices.Concat(core, []string{"gmu-lanes", "ssa-lanes"})
	// apart has the arms for writers in separate processes. It lacks the arms in lanes, because a lane serialises only one process.
	apart = slices.Concat(queued, []string{"gmu-unbounded", "patch-lock"})
	all   = slices.Concat(apart, []string{"gmu-lanes", "ssa-lanes"})
)

// gridCell is a cell of the workload gridWorkload. The grid cells of a profile differ in their parameters and arms.
type gridCell struct {
	compare.Parameters
	arms []string
	aa   bool // whether the arm ssa runs twice, for an A/A comparison
}

type shape struct {
	blocks int // number of blocks, except in workloads with Demonstration
	shown  int // number of blocks in workloads with Demonstration
	warmup, duration,
	other time.Duration // duration, warm-up excluded, of trials of other workloads than gridWorkload
	roundsAtMost int
	grid         []gridCell
}

const ms = time.Millisecond

var quickShape = shape{
	blocks: 1, shown: 1, warmup: 200 * ms, duration: 500 * ms, other: 500 * ms, roundsAtMost: 3,
	grid: []gridCell{
		{compare.Parameters{Writers: 4, Managers: 4, RTT: 5 * ms}, all, true},
		{compare.Parameters{Writers: 4, Processes: 4, Managers: 4, RTT: 5 * ms}, apart, false},
	},
}

// judgedBlocks is the least number of blocks for a verdict.
const judgedBlocks = 6

// reviewShape is the shape of the profile review. One series of cells varies the number of writers without an added round-trip
// time, a second with 5 ms. A third series varies the round-trip time for four processes. The other cells vary other parameters.
var reviewShape = shape{
	blocks: 7, shown: 3, warmup: 200 * ms, duration: 1200 * ms, other: 800 * ms, roundsAtMost: 29,
	grid: []gridCell{
		{compare.Parameters{Writers: 1, Managers: 4}, queued, false},
		{compare.Parameters{Writers: 4, Managers: 4}, all, true},
		{compare.Parameters{Writers: 16, Managers: 4}, lanes, false},
		{compare.Parameters{Writers: 64, Managers: 4}, lanes, false},
		{compare.Parameters{Writers: 1, Managers: 4, RTT: 5 * ms}, queued, false},
		{compare.Parameters{Writers: 4, Managers: 4, RTT: 5 * ms}, all, false},
		{compare.Parameters{Writers: 16, Managers: 4, RTT: 5 * ms}, slices.Concat(lanes, []string{"gmu-requeue"}), true},
		{compare.Parameters{Writers: 64, Managers: 4, RTT: 5 * ms}, lanes, false},
		{compare.Parameters{Writers: 4, Processes: 4, Managers: 4}, apart, false},
		{compare.Parameters{Writers: 4, Processes: 4, Managers: 4, RTT: 1 * ms}, queued, false},
		{compare.Parameters{Writers: 4, Processes: 4, Managers: 4, RTT: 5 * ms}, apart, true},
		{compare.Parameters{Writers: 4, Processes: 4, Managers: 4, RTT: 20 * ms}, queued, false},
		{compare.Parameters{Writers: 16, Processes: 16, Managers: 16, RTT: 5 * ms}, apart, false},
		{compare.Parameters{Writers: 4, Managers: 1}, core, false},
		{compare.Parameters{Writers: 4, Managers: 16}, core, false},
		{compare.Parameters{Writers: 16, Managers: 4, Objects: 64, RTT: 5 * ms}, queued, false},
		{compare.Parameters{Writers: 4, Processes: 4, Managers: 4, RTT: 5 * ms, Rate: 40}, queued, false},
	},
}

func quickPlan(c compare.Catalogue) []results.PlannedCell {
	plan := quickShape.plan(c)
	if len(plan) > 0 && plan[0].Workload == gridWorkload {
		plan[0].Blocks = judgedBlocks
	}
	return plan
}

// gridWorkload is the workload of the grid and of the negative controls.
const gridWorkload = "hot-object"

func (s shape) plan(c compare.Catalogue) []results.PlannedCell {
	var plan []results.PlannedCell
	if w, found := c.Workload(gridWorkload); found {
		for _, g := range s.grid {
			cell := s.cell(w, settled(g.Parameters))
			cell.Arms, cell.Baseline, cell.Blocks = g.arms, g.arms[0], s.blocks
			if g.aa {
				cell.AA = "ssa"
			}
			plan = append(plan, cell)
		}
	}
	for _, w := range c.Workloads {
		if w.Name == gridWorkload || len(w.Arms) == 0 {
			continue // the user must select the arms of such a workload with --arms
		}
		cell := s.cell(w, compare.Parameters{Duration: s.other})
		cell.Blocks, cell.Baseline, cell.Arms = s.blocks, w.Arms[0], w.Arms[:1:1]
		if w.Demonstration {
			cell.Blocks = s.shown
		}
		for _, arm := range w.Arms[1:] {
			if !forGrid[arm] || claimed(w, arm) {
				cell.Arms = append(cell.Arms, arm)
			}
		}
		plan = append(plan, cell)
	}
	return append(plan, s.controls(c)...)
}

// forGrid contains the arms that a profile runs only in the grid, because their results in other workloads follow
// from the results in the grid. In another workload, such an arm runs only if a published claim is about the arm.
var forGrid = map[string]bool{"gmu-unbounded": true, "gmu-lanes": true, "patch-lock": true, "ssa-lanes": true}

// claimed reports whether a published claim is about the arm.
func claimed(w compare.Workload, arm string) bool {
	return slices.ContainsFunc(w.Claims, func(c compare.Claim) bool { return c.Arm == arm })
}

// settled returns the parameters, with a longer warm-up and duration if many writers share one object. Such writers
// back off for so long that a trial of the usual length would show only the start.
func settled(p compare.Parameters) compare.Parameters {
	switch {
	case p.Objects > 1:
	case p.Writers >= 64:
		p.Warmup, p.Duration = 1000*ms, 2000*ms
	case p.Writers >= 16:
		p.Warmup, p.Duration = 600*ms, 1400*ms
	}
	return p
}

// cell returns a cell in which missing parameters are set from the workload's defaults and the profile.
func (s shape) cell(w compare.Workload, p compare.Parameters) results.PlannedCell {
	d := w.Defaults
	filled := compare.Parameters{
		Writers: cmp.Or(p.Writers, d.Writers, 1), Processes: cmp.Or(p.Processes, d.Processes, 1),
		Objects: cmp.Or(p.Objects, d.Objects, 1), Managers: cmp.Or(p.Managers, d.Managers, 1), RTT: cmp.Or(p.RTT, d.RTT),
		Rate: cmp.Or(p.Rate, d.Rate), Rounds: min(cmp.Or(p.Rounds, d.Rounds), s.roundsAtMost),
		Warmup: cmp.Or(p.Warmup, s.warmup), Duration: cmp.Or(p.Duration, s.duration),
	}
	if filled.Rounds > 0 {
		filled.Warmup, filled.Duration = 0, 0
	}
	return results.PlannedCell{Cell: compare.Cell{Workload: w.Name, Parameters: filled}}
}

// controls returns the cell with the negative controls. Every run has this cell, to check that the oracle finds lost updates.
func (s shape) controls(c compare.Catalogue) []results.PlannedCell {
	w, found := c.Workload(gridWorkload)
	if !found {
		return nil
	}
	cell := s.cell(w, compare.Parameters{Writers: 4, Managers: 4})
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
