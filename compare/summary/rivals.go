package summary

import (
	"slices"

	"coapply.dev/compare/results"
)

// applies are the arms that write by Server-Side Apply.
var applies = []string{plainApply, ours, "ssa-force", "update-then-ssa"}

// withRivals compares plain Server-Side Apply and ours with every other way of writing in the cell: a baseline that is easy
// to beat must not hide one that is not.
func (r *reckoning) withRivals(measure string) []results.Comparison {
	var family []results.Comparison
	for _, a := range r.groups {
		if a.aa || a.cell.Control || a.arm != plainApply && a.arm != ours {
			continue
		}
		for _, b := range r.rivalsOf(a) {
			if c, ok := r.compare(a, b, measure); ok {
				family = append(family, c)
			}
		}
	}
	return family
}

// rivalsOf gives the arms of the same cell that do not apply, without the baseline.
func (r *reckoning) rivalsOf(a group) []group {
	return r.where(func(b group) bool {
		same := b.name() == a.name() && !b.cell.Control && !b.aa && len(b.trials) > 0
		return same && b.arm != a.cell.Baseline && !slices.Contains(applies, b.arm)
	})
}
