package statistics

import "gonum.org/v1/gonum/mathext"

// Proportion returns the exact 95 % confidence interval of the share of hits in n samples (Clopper and Pearson, 1934).
// With 0 hits, the upper end is about 3.7/n. ok is false if n is below 1, or if hits is negative or above n.
func Proportion(hits, n int) (lo, hi float64, ok bool) {
	if n < 1 || hits < 0 || hits > n {
		return 0, 0, false
	}
	const tail = (1 - Confidence) / 2
	x, rest := float64(hits), float64(n-hits)
	lo, hi = 0, 1
	if hits > 0 {
		lo = mathext.InvRegIncBeta(x, rest+1, tail)
	}
	if hits < n {
		hi = mathext.InvRegIncBeta(x+1, rest, 1-tail)
	}
	return lo, hi, true
}
