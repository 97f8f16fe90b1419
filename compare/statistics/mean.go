package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean with Student's interval. Lo and Hi are nil with fewer than EnoughForInterval samples. Lo is not below 0
// unless a sample is.
type Estimate struct {
	N    int      `json:"trials"` // that it is the mean of
	Mean float64  `json:"mean"`   // of the trials
	Lo   *float64 `json:"lo"`     // the lower end of the 95 % interval
	Hi   *float64 `json:"hi"`     // the upper one
}

// Mean returns the mean of samples; false for no samples.
func Mean(samples []float64) (Estimate, bool) {
	if len(samples) == 0 {
		return Estimate{}, false
	}
	mean, deviation := stat.MeanStdDev(samples, nil)
	e := Estimate{N: len(samples), Mean: mean}
	if e.N == 1 {
		e.Mean = samples[0]
	}
	if e.N >= EnoughForInterval {
		half := quantile(float64(e.N-1)) * deviation / math.Sqrt(float64(e.N))
		e.Lo, e.Hi = new(max(mean-half, min(0, slices.Min(samples)))), new(mean+half)
	}
	return e, true
}

// quantile of Student's distribution that leaves half of the error above it.
func quantile(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1 - (1-Confidence)/2)
}
