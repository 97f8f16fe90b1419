package statistics

// Fairness is Jain's index (DEC-TR-301, 1984) of what each of several got: 1 if all got the same, 1/n if one got all. It
// is false if nobody got anything.
func Fairness(shares []int) (float64, bool) {
	sum, squares := 0.0, 0.0
	for _, share := range shares {
		sum += float64(share)
		squares += float64(share) * float64(share)
	}
	if squares == 0 {
		return 0, false
	}
	return sum * sum / (float64(len(shares)) * squares), true
}
