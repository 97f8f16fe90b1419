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

// shape is what a profile fixes of every cell.
type shape struct {
	blocks, otherBlocks     int // of the cells of the grid, and of the other workloads
	warmup, duration, other time.Duration
	roundsAtMost            int
	grid                    []compare.Parameters
}

// choice is the arms that people choose between, in the grid. With many objects a cache can keep up with its writers, and
// they are also compared with the way that controllers read. One object without a pause is written faster than any cache
// hears of it: every cached read would be old, even with one writer.
func choice(p compare.Parameters) []string {
	arms := []string{"gmu-default-retry", "gmu-unbounded", "gmu-lanes", "ssa", "apply"}
	switch {
	case p.Objects > 1:
		arms = append(arms, "gmu-cached")
	case p.Writers == 4 && p.Managers == 4 && p.RTT == 0: // one cell for what a hypothesis names and few choose
		arms = append(arms, "merge-patch-rv")
	}
	return arms
}

// shown are the arms that a profile runs in the other workloads, beside the first of each: those that show what the
// workload is about, and ours.
var shown = map[string]bool{
	"gmu-default-retry": true, "gmu-exponential": true, "gmu-replace": true, "gmu-cached": true,
	"create-or-update": true, "naive": true, "expectations": true, "ssa": true, "ssa-force": true, "apply": true,
}

var quickShape = shape{
	blocks: 10, otherBlocks: 1, warmup: 200 * time.Millisecond, duration: 500 * time.Millisecond, other: 500 * time.Millisecond,
	roundsAtMost: 3, grid: []compare.Parameters{{Writers: 8, Managers: 4}},
}

var reviewShape = shape{
	blocks: 10, otherBlocks: 10, warmup: 200 * time.Millisecond, duration: 1300 * time.Millisecond, other: 800 * time.Millisecond,
	roundsAtMost: 20,
	grid: []compare.Parameters{
		{Writers: 1, Managers: 1}, {Writers: 1, Managers: 16},
		{Writers: 4, Managers: 1}, {Writers: 4, Managers: 4}, {Writers: 4, Managers: 16}, {Writers: 4, Managers: 64},
		{Writers: 16, Managers: 1}, {Writers: 16, Managers: 4}, {Writers: 16, Managers: 16},
		{Writers: 64, Managers: 4}, {Writers: 4, Managers: 4, RTT: 5 * time.Millisecond},
		{Writers: 1, Managers: 1, Objects: 64}, {Writers: 16, Managers: 4, Objects: 64},
	},
}

// QuickPlan is a look at every workload in under three minutes: intervals for one cell, one trial of the others.
func QuickPlan(c compare.Catalogue) []results.PlannedCell { return quickShape.plan(c) }

// ReviewPlan is what a design review needs, in under 45 minutes: a grid of writers and managers for the arms that people
// choose between, and one cell for every other workload, each arm ten times.
func ReviewPlan(c compare.Catalogue) []results.PlannedCell { return reviewShape.plan(c) }

// gridWorkload is the workload of the grid and of the controls.
const gridWorkload = "hot-object"

func (s shape) plan(c compare.Catalogue) []results.PlannedCell {
	var plan []results.PlannedCell
	if w, found := c.Workload(gridWorkload); found {
		for i, p := range s.grid {
			cell := s.cell(w, settled(p))
			cell.Arms, cell.Blocks = choice(p), s.blocks
			cell.Baseline = cell.Arms[0]
			if i == len(s.grid)/4 { // one of the middle, where arms differ by little
				cell.AA = cell.Baseline
			}
			plan = append(plan, cell)
		}
	}
	for _, w := range c.Workloads {
		if w.Name == gridWorkload || len(w.Arms) == 0 {
			continue // a workload of the user's without arms is for --arms
		}
		cell := s.cell(w, compare.Parameters{Duration: s.other})
		cell.Blocks, cell.Baseline, cell.Arms = s.otherBlocks, w.Arms[0], w.Arms[:1:1]
		for _, arm := range w.Arms[1:] {
			if shown[arm] || claimed(w, arm) {
				cell.Arms = append(cell.Arms, arm)
			}
		}
		plan = append(plan, cell)
	}
	return append(plan, s.controls(c)...)
}

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
		p.Warmup, p.Duration = 2*time.Second, 2500*time.Millisecond
	case p.Writers >= 16:
		p.Warmup, p.Duration = 600*time.Millisecond, 1400*time.Millisecond
	}
	return p
}

// cell fills in what the parameters leave open from the workload's defaults and the profile.
func (s shape) cell(w compare.Workload, p compare.Parameters) results.PlannedCell {
	d := w.Defaults
	filled := compare.Parameters{
		Writers: first(p.Writers, d.Writers, 1), Objects: first(p.Objects, d.Objects, 1),
		Managers: first(p.Managers, d.Managers, 1), Overlap: first(p.Overlap, d.Overlap), RTT: first(p.RTT, d.RTT),
		Rate: first(p.Rate, d.Rate), Bytes: first(p.Bytes, d.Bytes),
		Rounds: min(first(p.Rounds, d.Rounds), s.roundsAtMost),
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
	cell.Control, cell.Blocks = true, min(s.blocks, 2)
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

// first gives the first value that is not zero.
func first[T comparable](values ...T) T {
	var zero T
	for _, v := range values {
		if v != zero {
			return v
		}
	}
	return zero
}
