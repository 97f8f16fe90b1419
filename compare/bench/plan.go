package bench

import (
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// Profiles of a run.
const (
	Quick  = "quick"
	Review = "review"
	Custom = "custom"
)

// Arms that stand beside each other in the grid. A cell has those that its question is about.
var (
	// core are those of every cell.
	core = []string{"gmu-default-retry", "update", "ssa", "apply"}
	// queued has what a controller does with a stale write as well.
	queued = slices.Concat(core, []string{"gmu-requeue"})
	// lanes are those of writers that share a process. Each writer of gmu-requeue is a controller with a queue of its own,
	// and nobody runs 16 or 64 for one object in one process: one such cell, about what it costs, is enough.
	lanes = slices.Concat(core, []string{"gmu-lanes", "ssa-lanes"})
	// apart are those of writers that share no process: plain lanes come to nothing there.
	apart = slices.Concat(queued, []string{"gmu-unbounded", "patch-lock"})
	all   = slices.Concat(apart, []string{"gmu-lanes", "ssa-lanes"})
)

// gridCell is a cell of the grid.
type gridCell struct {
	compare.Parameters
	arms []string
	aa   bool // plain Server-Side Apply runs twice
}

// shape is what a profile fixes of every cell.
type shape struct {
	blocks int // of the cells of the grid, and of workloads whose outcome is measured
	shown  int // of demonstrations
	warmup, duration,
	other time.Duration // what a trial of another workload than the grid's counts
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

// quickBlocks are those of the first cell of the quick run, which has a verdict.
const quickBlocks = 6

// reviewShape has the cells that answer which way is fastest, by writers, processes and round-trip time, and what it
// costs: a curve over writers at two round trips, one over round trips for four processes, and one step to each side.
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

// QuickPlan is a look at every workload in under three minutes: intervals for one cell, one trial of the others.
func QuickPlan(c compare.Catalogue) []results.PlannedCell {
	plan := quickShape.plan(c)
	if len(plan) > 0 && plan[0].Workload == gridWorkload {
		plan[0].Blocks = quickBlocks
	}
	return plan
}

// ReviewPlan is what a design review needs, in three quarters of an hour.
func ReviewPlan(c compare.Catalogue) []results.PlannedCell { return reviewShape.plan(c) }

// gridWorkload is the workload of the grid and of the controls.
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
			continue // a workload of the user's without arms is for --arms
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

// forGrid are arms that a profile runs in the grid only: what they come to elsewhere follows from there.
var forGrid = map[string]bool{"gmu-unbounded": true, "gmu-lanes": true, "patch-lock": true, "ssa-lanes": true}

// claimed says that a published figure is about the arm.
func claimed(w compare.Workload, arm string) bool {
	return slices.ContainsFunc(w.Claims, func(c compare.Claim) bool { return c.Arm == arm })
}

// settled is the times of a cell whose writers wait for each other so long, and back off so far, that a trial of the usual
// length would show its beginning only.
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

// cell fills in what the parameters leave open from the workload's defaults and the profile.
func (s shape) cell(w compare.Workload, p compare.Parameters) results.PlannedCell {
	d := w.Defaults
	filled := compare.Parameters{
		Writers: first(p.Writers, d.Writers, 1), Processes: first(p.Processes, d.Processes, 1),
		Objects: first(p.Objects, d.Objects, 1), Managers: first(p.Managers, d.Managers, 1), RTT: first(p.RTT, d.RTT),
		Rate: first(p.Rate, d.Rate), Rounds: min(first(p.Rounds, d.Rounds), s.roundsAtMost),
		Warmup: first(p.Warmup, s.warmup), Duration: first(p.Duration, s.duration),
	}
	if filled.Rounds > 0 {
		filled.Warmup, filled.Duration = 0, 0
	}
	return results.PlannedCell{Cell: compare.Cell{Workload: w.Name, Parameters: filled}}
}

// controls is the cell that shows whether the oracle sees losses. It is part of every run.
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

// first returns the first value that is not zero.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}
