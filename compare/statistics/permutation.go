package statistics

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// exactUpTo so many samples SignFlip goes through all signs.
const exactUpTo = 16

// samples of signs that SignFlip draws beyond.
const draws = 1 << exactUpTo

// SignFlip is the two-sided p of Fisher's test (The Design of Experiments, 1935, section 21): how many of the ways to
// give the differences their signs have a sum as far from 0 as the one that was seen. Up to 16 differences all ways are
// tried; beyond, 65,536 of them drawn with the seed, and the one that was seen.
func SignFlip(differences []float64, seed uint64) float64 {
	n := len(differences)
	if n == 0 {
		return 1
	}
	seen, scale := 0.0, 0.0
	for _, d := range differences {
		seen += d
		scale += math.Abs(d)
	}
	// Sums of the same numbers in other signs differ by rounding only.
	atLeast := math.Abs(seen) - 1e-12*scale
	if n > exactUpTo {
		return drawn(differences, atLeast, seed)
	}
	extreme := 0
	for signs := range uint64(1) << n {
		if math.Abs(signed(differences, signs)) >= atLeast {
			extreme++
		}
	}
	return float64(extreme) / math.Exp2(float64(n))
}

func signed(differences []float64, signs uint64) float64 {
	sum := 0.0
	for i, d := range differences {
		if signs>>i&1 == 1 {
			d = -d
		}
		sum += d
	}
	return sum
}

func drawn(differences []float64, atLeast float64, seed uint64) float64 {
	random := rand.New(rand.NewPCG(seed, uint64(len(differences))))
	extreme := 1
	for range draws {
		sum, signs := 0.0, uint64(0)
		for i, d := range differences {
			if i%bits.UintSize == 0 {
				signs = random.Uint64()
			}
			if signs&1 == 1 {
				d = -d
			}
			signs >>= 1
			sum += d
		}
		if math.Abs(sum) >= atLeast {
			extreme++
		}
	}
	return float64(extreme) / (draws + 1)
}
