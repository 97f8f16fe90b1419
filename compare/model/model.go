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
	var families [2]family
	each(len(families), func(i int) {
		families[i] = familyOf(run, byArm, names, i == 0)
		families[i].fit(run.Seed)
	})
	members := slices.Concat(families[:]...)
	if len(members) == 0 {
		return nil
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	managers := managersBeyond(members)
	arms := make([]judgedArm, len(members))
	each(len(members), func(i int) { arms[i] = members[i].judge(managers, run.Seed) })
	return together(arms, managers)
}

// each does all at once, since each is its own simulation.
func each(count int, do func(i int)) {
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// judgedArm is what the model says of one arm.
type judgedArm struct {
	member

	fitted, checked []results.ModelCell
	verdict         results.ModelArm
	beyond          []results.ModelPoint
}

func (m member) judge(managers int, seed uint64) judgedArm {
	a := judgedArm{member: m}
	var counted []results.ModelCell
	for _, c := range m.cells {
		if c.goodput() == 0 {
			continue // there is no relative error
		}
		compared := m.compare(c, seed)
		switch {
		case m.sees(c.place):
			a.fitted = append(a.fitted, compared)
			continue
		case m.knows(c.managers):
			counted = append(counted, compared)
		default:
			compared.Outside = fmt.Sprintf("%d managers; with one writer alone %d to %d were measured",
				c.managers, slices.Min(m.managers), slices.Max(m.managers))
		}
		a.checked = append(a.checked, compared)
	}
	a.verdict = judge(counted)
	if a.verdict.Accepted && m.knows(managers) {
		a.beyond = m.extrapolate(managers, seed)
	}
	return a
}

func judge(checked []results.ModelCell) results.ModelArm {
	var v results.ModelArm
	v.MedianError, v.WorstError = errorsOf(checked)
	switch {
	case len(checked) < enoughChecks:
		v.Why = fmt.Sprintf("cells left to check it with: %d, and it takes %d", len(checked), enoughChecks)
	case *v.MedianError > medianLimit || *v.WorstError > worstLimit:
		v.Why = fmt.Sprintf("in cells that it had not seen its goodput was off by %.1f %% (median) and %.1f %% (worst); %.0f and %.0f %% are accepted",
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

func together(arms []judgedArm, managers int) *results.Model {
	m := &results.Model{Parameters: map[string]results.Numbers{}, Arms: map[string]results.ModelArm{}}
	var why []string
	for _, a := range arms {
		m.Parameters[a.name], m.Arms[a.name] = a.numbers(), a.verdict
		m.Fitted, m.Checked = append(m.Fitted, a.fitted...), append(m.Checked, a.checked...)
		m.Extrapolation = append(m.Extrapolation, a.beyond...)
		if a.verdict.Accepted {
			m.Accepted, m.ExtrapolatedManagers = true, managers
		} else {
			why = append(why, "no extrapolation of "+a.name+": "+a.verdict.Why)
		}
	}
	m.MedianError, m.WorstError = errorsOf(slices.DeleteFunc(slices.Clone(m.Checked), func(c results.ModelCell) bool {
		return c.Outside != ""
	}))
	m.Why = strings.Join(why, "; ")
	return m
}

// managersBeyond is what the extrapolation goes on with: the managers of the cell with the most writers, the fewest of
// them. The cost of managers is not extrapolated.
func managersBeyond(members []member) int {
	var most place
	for _, m := range members {
		for _, c := range m.cells {
			if m.knows(c.managers) && (c.writers > most.writers || (c.writers == most.writers && c.managers < most.managers)) {
				most = c.place
			}
		}
	}
	return most.managers
}

// extrapolate predicts to 1,000 writers and 20 ms.
func (m armModel) extrapolate(managers int, seed uint64) []results.ModelPoint {
	var points []results.ModelPoint
	for _, rtt := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond} {
		for _, writers := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000} {
			at := place{writers, managers, rtt}
			points = append(points, m.point(m.steady(at, seed).predict(1), at))
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
