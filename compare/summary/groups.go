package summary

import (
	"slices"

	"coapply.dev/compare/results"
)

// group is the trials of an arm in a cell.
type group struct {
	cell   results.PlannedCell
	arm    string
	aa     bool
	trials []results.Trial // those that count, by block
	void   []results.Trial
	result results.Result
}

// groupsOf is in the order of the plan. An arm of which there is no trial has no group.
func groupsOf(run results.Run, trials []results.Trial) []group {
	var groups []group
	for _, cell := range run.Plan {
		for _, arm := range cell.Arms {
			groups = appendMeasured(groups, group{cell: cell, arm: arm}, run, trials)
		}
		if cell.AA != "" {
			groups = appendMeasured(groups, group{cell: cell, arm: cell.AA, aa: true}, run, trials)
		}
	}
	return groups
}

func appendMeasured(groups []group, g group, run results.Run, trials []results.Trial) []group {
	for _, t := range trials {
		switch {
		case t.Cell != g.cell.Cell || t.Arm != g.arm || t.AA != g.aa:
		case t.Void != "":
			g.void = append(g.void, t)
		default:
			g.trials = append(g.trials, t)
		}
	}
	if len(g.trials)+len(g.void) == 0 {
		return groups
	}
	slices.SortStableFunc(g.trials, func(a, b results.Trial) int { return a.Block - b.Block })
	g.result = g.reckon(run)
	return append(groups, g)
}

// name of the group's cell, as comparisons have it.
func (g group) name() string { return g.cell.String() }

// lookup gives the group of an arm in a cell; of no AA.
func (r *reckoning) lookup(cell, arm string) (group, bool) {
	for _, g := range r.groups {
		if g.arm == arm && !g.aa && g.name() == cell && len(g.trials) > 0 {
			return g, true
		}
	}
	return group{}, false
}

// where gives the groups that satisfy a condition, without A/A.
func (r *reckoning) where(condition func(group) bool) []group {
	var found []group
	for _, g := range r.groups {
		if !g.aa && len(g.trials) > 0 && condition(g) {
			found = append(found, g)
		}
	}
	return found
}
