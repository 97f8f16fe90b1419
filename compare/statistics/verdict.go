// Package statistics compares what trials measured. It is pure: the same numbers give the same answer.
//
// The trial is the unit. Two arms are compared within blocks, so that what a block shares (a noisy neighbour, a full
// disk) cancels out: the mean of the logarithms of their ratios, with Student's interval. Each comparison belongs to a
// family that was named before the run, and its verdict is adjusted for the size of that family.
package statistics

import (
	"cmp"
	"slices"
)

// Confidence of every interval; what is left is the error that a whole family of verdicts may make.
const Confidence = 0.95

// EnoughForInterval is how many samples an interval needs: of two, Student's is so wide that it says nothing.
const EnoughForInterval = 3

// Verdict is what a comparison shows.
type Verdict string

// The verdicts. Better and Worse are of the arm and not of the number: of a cost, the lower one is better.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Equivalent Verdict = "equivalent"
	Undecided  Verdict = "undecided"
	NoVerdict  Verdict = "no verdict"
)

// Case is one comparison of a family.
type Case struct {
	Ratio Ratio
	// Picked is how many arms one of the two was picked from by what they measured; 0 and 1 if it was named before.
	Picked int
	// Cost says that lower is better.
	Cost bool
}

// Judged is the verdict of a comparison, with its p as adjusted for the family.
type Judged struct {
	Verdict Verdict
	P       float64
}

// Judge returns the verdicts of a family: the chance that any of them is wrong is at most 1 - Confidence.
//
// Better and worse say that the ratio is beyond the margin, not only that it is not 1; equivalent says that it is within.
// Only one of the two can be wrong of a comparison, so the smaller p counts, and Holm's method adjusts it.
func Judge(family []Case, margin float64) []Judged {
	p := make([]float64, len(family))
	for i, c := range family {
		p[i] = min(1, float64(max(1, c.Picked))*min(c.Ratio.Beyond(margin), c.Ratio.Within(margin)))
	}
	adjusted, judged := Holm(p), make([]Judged, len(family))
	for i, c := range family {
		judged[i] = Judged{c.word(margin, adjusted[i]), adjusted[i]}
	}
	return judged
}

func (c Case) word(margin, p float64) Verdict {
	switch {
	case p > 1-Confidence:
		return Undecided
	case c.Ratio.Within(margin) < c.Ratio.Beyond(margin):
		return Equivalent
	case (c.Ratio.Ratio > 1) != c.Cost:
		return Better
	}
	return Worse
}

// First returns the p that the best of several arms is none: ratios are of the arm that did best to each other one, the
// higher the better. One that is beaten by a hair is enough to leave the winner in doubt, so the largest p counts; and as
// any of the arms might have come out first by chance, it is multiplied by their number.
func First(ratios []Ratio, margin float64) float64 {
	if len(ratios) == 0 {
		return 1
	}
	hardest := 0.0
	for _, r := range ratios {
		hardest = max(hardest, r.Above(margin))
	}
	return min(1, hardest*float64(len(ratios)+1))
}

// Holm returns p-values as Holm (1979) adjusts them for how many there are: who calls those up to 0.05 differences is
// wrong about any of them in at most one of twenty families. The order is kept.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted, largest := make([]float64, len(p)), 0.0
	for rank, i := range order {
		largest = max(largest, min(1, p[i]*float64(len(p)-rank)))
		adjusted[i] = largest
	}
	return adjusted
}
