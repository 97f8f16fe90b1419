package statistics

import (
	"cmp"
	"slices"
)

// Adjust gives p-values as Benjamini and Hochberg (1995) adjust them for how many there are: who calls those up to 0.05
// differences is wrong about at most one in twenty of them. The order is kept.
func Adjust(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted := make([]float64, len(p))
	smallest := 1.0
	for rank := len(p); rank > 0; rank-- {
		i := order[rank-1]
		smallest = min(smallest, p[i]*float64(len(p))/float64(rank))
		adjusted[i] = smallest
	}
	return adjusted
}
