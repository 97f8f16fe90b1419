package summary

import (
	"slices"

	"coapply.dev/compare/results"
)

// States of a check. Stated is what cannot fail: the data says how it was, and the reader judges.
const (
	passed        = "passed"
	failed        = "failed"
	stated        = "stated"
	notApplicable = "n/a"
)

// check is a condition of an honest run. look gives its state and what was seen in this run's data.
type check struct {
	name, threat, guard string
	look                func(*reckoning) (state, seen string)
}

// checks gives first what a run stands or falls with, then the threats to its validity.
func (r *reckoning) checks() []results.Check {
	var all []results.Check
	for _, c := range slices.Concat(soundness(), setupThreats(), fairnessThreats(), trialThreats()) {
		state, seen := notApplicable, "no trial counts"
		if len(r.where(func(group) bool { return true })) > 0 {
			state, seen = c.look(r)
		}
		all = append(all, results.Check{Name: c.name, Threat: c.threat, Guard: c.guard, Result: seen, State: state})
	}
	return all
}

// state is passed or failed.
func state(ok bool) string {
	if ok {
		return passed
	}
	return failed
}

// counting gives the trials that count, of all groups.
func (r *reckoning) counting() []results.Trial {
	var all []results.Trial
	for _, g := range r.groups {
		all = append(all, g.trials...)
	}
	return all
}
