package statistics

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio is a ratio of two measures: a geometric mean with an interval by Student's t distribution of the
// logarithms. Lo and Hi are 0 with fewer than EnoughForInterval samples.
type Ratio struct {
	N             int
	Ratio, Lo, Hi float64

	log, deviation, freedom float64 // the mean logarithm, the standard deviation of that mean, degrees of freedom
}

// Paired returns the ratio of a to b, where a[i] and b[i] are from the same block. It returns an error if there
// are no pairs, or if a value is not positive.
//
// The interval is Student's and not a bootstrap over blocks. With few blocks, the interval of a percentile
// bootstrap contains the true value less often than it should, as TestCoverage shows.
func Paired(a, b []float64) (Ratio, error) {
	if len(a) != len(b) || len(a) == 0 {
		return Ratio{}, fmt.Errorf("the values cannot be paired: %d on one side, %d on the other", len(a), len(b))
	}
	logs := make([]float64, len(a))
	for i := range a {
		if !positive(a[i]) || !positive(b[i]) {
			return Ratio{}, fmt.Errorf("no ratio exists, because the values %.4g and %.4g of pair %d are not both positive", a[i], b[i], i+1)
		}
		logs[i] = math.Log(a[i] / b[i])
	}
	return OfLogarithms(logs), nil
}

// OfLogarithms returns the geometric mean of ratios, given their logarithms. There must be at least one.
func OfLogarithms(logs []float64) Ratio {
	n := float64(len(logs))
	mean, deviation := stat.MeanStdDev(logs, nil)
	r := Ratio{N: len(logs), Ratio: math.Exp(mean), log: mean, deviation: deviation / math.Sqrt(n), freedom: n - 1}
	if r.N >= EnoughForInterval {
		half := quantile(r.freedom) * r.deviation
		r.Lo, r.Hi = math.Exp(mean-half), math.Exp(mean+half)
	}
	return r
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// Beyond returns the two-sided p-value of the hypothesis that the ratio differs from 1 by at most the margin. A
// small value shows that it differs by more.
func (r Ratio) Beyond(margin float64) float64 {
	return min(1, 2*r.tail(math.Abs(r.log)-math.Log1p(margin)))
}

// Within returns the p-value of two one-sided tests (Schuirmann 1987) of the hypothesis that the ratio differs
// from 1 by at least the margin. A small value shows that it differs by less.
func (r Ratio) Within(margin float64) float64 {
	return r.tail(math.Log1p(margin) - math.Abs(r.log))
}

// tail returns the probability that the mean logarithm deviates by at least the given distance by chance.
func (r Ratio) tail(distance float64) float64 {
	switch {
	case r.N < EnoughForInterval:
		return 1
	case r.deviation == 0 && distance > 0:
		return 0
	case r.deviation == 0:
		return 1
	}
	return distuv.StudentsT{Sigma: 1, Nu: r.freedom}.Survival(distance / r.deviation)
}

// Samples returns how many blocks find a ratio that differs from 1 by the margin in four of five runs, given the logarithms
// of the ratios in a pilot. The difference counts from 1, at the 95 % level of a single comparison.
func Samples(pilot []float64, margin float64) int {
	if len(pilot) < EnoughForInterval {
		return math.MaxInt
	}
	normal := distuv.UnitNormal
	needed := (normal.Quantile(1-(1-Confidence)/2) + normal.Quantile(0.8)) * stat.StdDev(pilot, nil) / math.Log1p(margin)
	return int(math.Ceil(needed*needed)) + 2 // Student's quantiles are wider than the normal ones
}
