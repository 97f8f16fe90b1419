package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"coapply.dev/compare/results"
)

// Errors of goodput in cells that the fit has not seen up to which an arm is accepted, as shares, and the number of such
// cells without which it is not.
const (
	medianLimit  = 0.10
	worstLimit   = 0.25
	enoughChecks = 3
)

// Fit gives the model of the run: fitted on some cells of the workload hot-object, checked on the others, and, for arms
// that pass the check, what it predicts beyond them. It is nil if no arm was measured both with one writer and with
// several. The same trials give the same model.
func Fit(run results.Run, trials []results.Trial) *results.Model {
	byArm := cellsOf(trials)
	names := slices.Sorted(maps.Keys(byArm))
	managers := managersBeyond(byArm)
	arms := make([]*fittedArm, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { arms[i] = newFittedArm(name, byArm[name], managers, run.Seed) })
	}
	all.Wait()
	arms = slices.DeleteFunc(arms, func(a *fittedArm) bool { return a == nil })
	if len(arms) == 0 {
		return nil
	}
	return together(arms, managers)
}

// fittedArm is what the model says of one arm.
type fittedArm struct {
	name            string
	parameters      results.Numbers
	fitted, checked []results.ModelCell
	verdict         results.ModelArm
	beyond          []results.ModelPoint
}

// newFittedArm is nil for an arm that there is nothing to fit of.
func newFittedArm(name string, cells []cell, managers int, seed uint64) *fittedArm {
	m, err := fitArm(name, cells, seed)
	if err != nil {
		return nil
	}
	a := &fittedArm{name: name, parameters: m.numbers()}
	for _, c := range cells {
		switch {
		case c.goodput() == 0: // there is no relative error
		case m.sees(c.place):
			a.fitted = append(a.fitted, m.compare(name, c, seed))
		default:
			a.checked = append(a.checked, m.compare(name, c, seed))
		}
	}
	a.verdict = judge(a.checked)
	if a.verdict.Accepted {
		a.beyond = m.extrapolate(name, managers, seed)
	}
	return a
}

func judge(checked []results.ModelCell) results.ModelArm {
	var v results.ModelArm
	v.MedianError, v.WorstError = errorsOf(checked)
	switch {
	case len(checked) < enoughChecks:
		v.Why = fmt.Sprintf("only %d cells were left to check it with, it takes %d", len(checked), enoughChecks)
	case *v.MedianError > medianLimit || *v.WorstError > worstLimit:
		v.Why = fmt.Sprintf("in cells that it had not seen its goodput was off by %.0f %% (median) and %.0f %% (worst); %.0f and %.0f %% are accepted",
			100**v.MedianError, 100**v.WorstError, 100*medianLimit, 100*worstLimit)
	default:
		v.Accepted = true
	}
	return v
}

// errorsOf are without sign; nil without cells.
func errorsOf(cells []results.ModelCell) (median, worst *float64) {
	if len(cells) == 0 {
		return nil, nil
	}
	var off []float64
	for _, c := range cells {
		off = append(off, math.Abs(c.Error))
	}
	slices.Sort(off)
	middle := (off[(len(off)-1)/2] + off[len(off)/2]) / 2
	return &middle, &off[len(off)-1]
}

func together(arms []*fittedArm, managers int) *results.Model {
	m := &results.Model{Parameters: map[string]results.Numbers{}, Arms: map[string]results.ModelArm{}}
	var why []string
	for _, a := range arms {
		m.Parameters[a.name], m.Arms[a.name] = a.parameters, a.verdict
		m.Fitted, m.Checked = append(m.Fitted, a.fitted...), append(m.Checked, a.checked...)
		m.Extrapolation = append(m.Extrapolation, a.beyond...)
		if a.verdict.Accepted {
			m.Accepted, m.ExtrapolatedManagers = true, managers
		} else {
			why = append(why, "no extrapolation of "+a.name+": "+a.verdict.Why)
		}
	}
	m.MedianError, m.WorstError = errorsOf(m.Checked)
	m.Why = strings.Join(why, "; ")
	return m
}

// managersBeyond is what the extrapolation goes on with: the managers of the measured cell with the most writers, the
// fewest of them.
func managersBeyond(byArm map[string][]cell) int {
	var most place
	for _, cells := range byArm {
		for _, c := range cells {
			if c.writers > most.writers || (c.writers == most.writers && c.managers < most.managers) {
				most = c.place
			}
		}
	}
	return most.managers
}

// extrapolate predicts to 1,000 writers and 20 ms.
func (m armModel) extrapolate(name string, managers int, seed uint64) []results.ModelPoint {
	var points []results.ModelPoint
	for _, rtt := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond} {
		for _, writers := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000} {
			at := place{writers, managers, rtt}
			points = append(points, m.steady(at, seed).predict(1).point(name, at))
		}
	}
	return points
}

// steady is long enough for as many writers to be in a steady state.
func (m armModel) steady(at place, seed uint64) scene {
	warmup, duration := 3_000.0, 10_000.0
	if at.writers > 100 {
		warmup, duration = timeout+1_000, 20_000
	}
	s := m.scene(at, warmup, duration, seed)
	s.steady = true
	return s
}
