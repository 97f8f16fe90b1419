package model

import (
	search "gonum.org/v1/gonum/optimize" //nolint:misspell // the library's name

	"coapply.dev/compare/results"
)

// The search begins again twice where it ended, with ever smaller steps: it is stuck easily, since a little of one
// parameter is worth a little of another. evaluations bounds each time: a report is made in seconds.
const evaluations = 90

var stepSizes = []float64{2, 1, 0.5}

// family is arms that send the same requests, and share the parameters that are fitted.
type family []member

// member is an arm with its cells.
type member struct {
	armModel
	cells []cell
}

// familyOf gives the arms of a kind that there is something to fit of: one writer alone, and several.
func familyOf(run results.Run, byArm map[string][]cell, names []string, applies bool) (f family) {
	for _, name := range names {
		m := member{armModel{name: name, policy: policyOf(run, name)}, byArm[name]}
		a, err := aloneOf(m.cells)
		if m.policy.applies != applies || err != nil {
			continue
		}
		m.alone = a
		for _, c := range m.cells {
			if m.sees(c.place) && c.writers > 1 && c.goodput() > 0 {
				f = append(f, m)
				break
			}
		}
	}
	return f
}

// fit finds the parameters with the least squared relative errors of goodput and of attempts for each write that landed,
// over the cells that it may see.
func (f family) fit(seed uint64) {
	if len(f) == 0 {
		return
	}
	applies := f[0].policy.applies
	loss := func(x []float64) float64 {
		p, sum := parametersFrom(applies, x), 0.0
		for _, m := range f {
			m.parameters = p
			sum += m.loss(seed)
		}
		return sum
	}
	x := make([]float64, len(parametersOf(applies)))
	for _, size := range stepSizes {
		found, err := search.Minimize( //nolint:misspell // likewise
			search.Problem{Func: loss}, x, &search.Settings{FuncEvaluations: evaluations}, &search.NelderMead{SimplexSize: size})
		if err == nil {
			x = found.X
		}
	}
	for i := range f {
		f[i].parameters = parametersFrom(applies, x)
	}
}

func (m member) loss(seed uint64) float64 {
	sum := 0.0
	for _, c := range m.cells {
		if !m.sees(c.place) || c.goodput() == 0 {
			continue
		}
		repeats := repeatsToFit
		if c.writers == 1 || m.policy.lanes {
			repeats = 1 // without races there is little chance in it
		}
		p := m.as(c, repeats, seed)
		off := p.goodput/c.goodput() - 1
		sum += off * off
		if stale := c.stale(); stale != nil && *stale < 1 {
			off := (1-p.stale)/(1-*stale) - 1
			sum += off * off
		}
	}
	return sum
}
