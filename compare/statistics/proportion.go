package statistics

import "gonum.org/v1/gonum/mathext"

// Proportion is the exact 95 % interval of a share of which hits of n were seen (Clopper and Pearson, 1934). Without any
// seen its upper end is about 3.7/n. It is false for n below 1 and for hits that are not among n.
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
