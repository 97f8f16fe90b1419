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
	warmup, duration time.Duration
	blocks           int // of the cells of the grid
	otherBlocks      int // of the other cells
	grid             []compare.Parameters
	gridArms         []string
	roundsAtMost     int
}

// The arms that people choose between, in the grid of a review.
var gridArms = []string{"gmu-default-retry", "gmu-unbounded", "gmu-lanes", "ssa", "apply"}

var quickShape = shape{
	warmup: 200 * time.Millisecond, duration: 600 * time.Millisecond, blocks: 6, otherBlocks: 1, roundsAtMost: 3,
	grid: []compare.Parameters{{Writers: 8, Managers: 4}}, gridArms: gridArms,
}

var reviewShape = shape{
	warmup: 300 * time.Millisecond, duration: 1500 * time.Millisecond, blocks: 10, otherBlocks: 10, roundsAtMost: 1 << 30,
	grid: []compare.Parameters{
		{Writers: 1, Managers: 1}, {Writers: 1, Managers: 4}, {Writers: 1, Managers: 16},
		{Writers: 4, Managers: 1}, {Writers: 4, Managers: 4}, {Writers: 4, Managers: 16},
		{Writers: 16, Managers: 1}, {Writers: 16, Managers: 4}, {Writers: 16, Managers: 16},
		{Writers: 64, Managers: 4}, {Writers: 4, Managers: 64},
		{Writers: 4, Managers: 4, RTT: 5 * time.Millisecond},
	}, gridArms: gridArms,
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
			cell := s.cell(w, p)
			cell.Arms, cell.Blocks = slices.Clone(s.gridArms), s.blocks
			cell.Baseline = cell.Arms[0]
			if i == len(s.grid)/3 { // one of the middle, where arms differ by little
				cell.AA = cell.Baseline
			}
			plan = append(plan, cell)
		}
	}
	for _, w := range c.Workloads {
		if w.Name == gridWorkload || len(w.Arms) == 0 {
			continue
		}
		cell := s.cell(w, compare.Parameters{})
		cell.Arms, cell.Blocks, cell.Baseline = slices.Clone(w.Arms), s.otherBlocks, w.Arms[0]
		plan = append(plan, cell)
	}
	return append(plan, s.controls(c)...)
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
