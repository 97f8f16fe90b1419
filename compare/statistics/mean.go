package statistics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a mean over trials with a 95 % confidence interval, by Student's t distribution. Lo and Hi are nil if
// there are fewer than EnoughForInterval samples. Lo is negative only if a sample is negative.
type Estimate struct {
	N    int      `json:"trials"` // the number of trials
	Mean float64  `json:"mean"`   // the mean of the trials
	Lo   *float64 `json:"lo"`     // the lower end of the 95 % interval
	Hi   *float64 `json:"hi"`     // the upper end
}

// Mean returns the mean of the samples and its interval. It returns false if there are no samples.
func Mean(samples []float64) (Estimate, bool) {
	if len(samples) == 0 {
		return Estimate{}, false
	}
	mean, deviation := stat.MeanStdDev(samples, nil)
	e := Estimate{N: len(samples), Mean: mean}
	if e.N >= EnoughForInterval {
		half := quantile(float64(e.N-1)) * deviation / math.Sqrt(float64(e.N))
		e.Lo, e.Hi = new(max(mean-half, min(0, slices.Min(samples)))), new(mean+half)
	}
	return e, true
}

// quantile returns the quantile of Student's t distribution for a two-sided interval, given the degrees of freedom.
func quantile(freedom float64) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(1 - (1-Confidence)/2)
}
