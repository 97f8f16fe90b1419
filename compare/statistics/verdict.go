// Package statistics compares the measurements of trials. Its functions have no side effects: equal input gives equal results.
//
// A trial gives one sample. Two arms are compared within blocks, so that influences on a whole block, such as a
// noisy neighbour or a full disk, cancel out. The result is the mean of the logarithms of their ratios, with an
// interval by Student's t distribution. Each comparison belongs to a family of comparisons that was defined
// before the run. Verdicts are adjusted for the number of comparisons in the family.
package statistics

import (
	"cmp"
	"slices"
)

// Confidence is the confidence level of every interval. 1 - Confidence is the probability of an error in a whole family of verdicts.
const Confidence = 0.95

// EnoughForInterval is the number of samples that an interval needs. With two samples, an interval would be too wide to be useful.
const EnoughForInterval = 3

// Verdict is the result of a comparison of two arms.
type Verdict string

// The verdicts. Better and Worse are about the arm, not about the number: for a cost, the arm with the lower value is better.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	Equivalent Verdict = "equivalent"
	Undecided  Verdict = "undecided"
	NoVerdict  Verdict = "no verdict"
)

// Case is one comparison of a family, as the input of Judge.
type Case struct {
	Ratio Ratio
	// Cost means that lower values are better.
	Cost bool
}

// Judged is the verdict of a comparison, and its p-value adjusted for the size of the family.
type Judged struct {
	Verdict Verdict
	P       float64
}

// Judge returns the verdicts of a family. The probability that any of them is wrong is at most 1 - Confidence.
//
// Better and worse mean that the ratio differs from 1 by more than the margin. Equivalent means that the ratio
// differs from 1 by less than the margin. Each comparison uses the smaller p-value of these two statements, because
// only one of the statements can be wrong. The p-values are then adjusted by Holm's method.
func Judge(family []Case, margin float64) []Judged {
	p := make([]float64, len(family))
	for i, c := range family {
		p[i] = min(c.Ratio.Beyond(margin), c.Ratio.Within(margin))
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

// Holm returns p-values, adjusted by Holm's method (1979) for their number, in the same order. If adjusted
// values up to 0.05 are called significant, the probability of any error in the family is at most 0.05.
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
