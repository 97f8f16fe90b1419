package model

import (
	"errors"
	"fmt"

	search "gonum.org/v1/gonum/optimize" //nolint:misspell // the library's name
)

// evaluations bounds the search for an arm: a report is made in seconds.
const evaluations = 100

// fitArm measures what the arm takes alone, and finds the other parameters with the least squared relative errors of
// goodput and of attempts for each write that landed, over the cells that it may see.
func fitArm(arm string, cells []cell, seed uint64) (armModel, error) {
	a, err := aloneOf(cells)
	m := armModel{alone: a, policy: policies[arm]}
	if err != nil {
		return m, err
	}
	var seen []cell
	crowded := false
	for _, c := range cells {
		if m.sees(c.place) && c.goodput() > 0 {
			seen, crowded = append(seen, c), crowded || c.writers > 1
		}
	}
	if !crowded {
		return m, errors.New("it was measured with one writer alone only")
	}
	start := make([]float64, len(m.policy.parameters()))
	found, err := search.Minimize( //nolint:misspell // likewise
		search.Problem{Func: func(x []float64) float64 { return m.with(x).loss(seen, seed) }}, start,
		&search.Settings{FuncEvaluations: evaluations}, &search.NelderMead{SimplexSize: 1})
	if err != nil {
		return m, fmt.Errorf("the search for its parameters: %w", err)
	}
	return m.with(found.X), nil
}

func (m armModel) loss(seen []cell, seed uint64) float64 {
	sum := 0.0
	for _, c := range seen {
		p := m.as(c, repeatsToFit, seed)
		off := p.goodput/c.goodput() - 1
		sum += off * off
		if stale := c.stale(); stale != nil && *stale < 1 {
			off := (1-p.stale)/(1-*stale) - 1
			sum += off * off
		}
	}
	return sum
}
