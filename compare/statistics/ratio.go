package statistics

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio of two measures. Lo and Hi are 0 where there are too few samples for an interval.
type Ratio struct {
	N      int // pairs, or samples of the smaller side
	Ratio  float64
	Lo, Hi float64
	P      float64
}

// Paired is the geometric mean of a[i]/b[i], with Student's interval of the logarithms and the exact test of SignFlip.
// Values that are not above 0 have no ratio and are an error, as are no pairs.
//
// Student's and not the bootstrap over blocks: with ten blocks and normal noise the percentile bootstrap covers the truth
// 90 times in 100 where Student's covers it 95 times; with skewed noise 85 and 90 times. TestCoverage shows it.
func Paired(a, b []float64, seed uint64) (Ratio, error) {
	if len(a) != len(b) || len(a) == 0 {
		return Ratio{}, fmt.Errorf("no pairs: %d values against %d", len(a), len(b))
	}
	logs := make([]float64, len(a))
	for i := range a {
		if !positive(a[i]) || !positive(b[i]) {
			return Ratio{}, fmt.Errorf("no ratio of %.4g to %.4g in pair %d", a[i], b[i], i+1)
		}
		logs[i] = math.Log(a[i] / b[i])
	}
	e, _ := Mean(logs)
	r := Ratio{N: len(a), Ratio: math.Exp(e.Mean), P: SignFlip(logs, seed)}
	if e.Lo != nil {
		r.Lo, r.Hi = math.Exp(*e.Lo), math.Exp(*e.Hi)
	}
	return r, nil
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }

// Unpaired is the ratio of two means of which only their intervals are known, as from another run: the delta method on
// the logarithms, degrees of freedom after Welch and Satterthwaite.
func Unpaired(a, b Estimate) (Ratio, error) {
	if !positive(a.Mean) || !positive(b.Mean) {
		return Ratio{}, fmt.Errorf("no ratio of %.4g to %.4g", a.Mean, b.Mean)
	}
	r := Ratio{N: min(a.N, b.N), Ratio: a.Mean / b.Mean, P: 1}
	if a.Hi == nil || b.Hi == nil || r.N < EnoughForInterval {
		return r, nil
	}
	va, vb := relativeVariance(a), relativeVariance(b)
	if va+vb == 0 {
		return Ratio{}, errors.New("no interval: neither side varies")
	}
	freedom := (va + vb) * (va + vb) / (va*va/float64(a.N-1) + vb*vb/float64(b.N-1))
	student, deviation := distuv.StudentsT{Sigma: 1, Nu: freedom}, math.Sqrt(va+vb)
	half := student.Quantile(1-(1-Confidence)/2) * deviation
	r.Lo, r.Hi = r.Ratio*math.Exp(-half), r.Ratio*math.Exp(half)
	r.P = 2 * student.Survival(math.Abs(math.Log(r.Ratio))/deviation)
	return r, nil
}

// relativeVariance of the mean, out of its interval.
func relativeVariance(e Estimate) float64 {
	quantile := distuv.StudentsT{Sigma: 1, Nu: float64(e.N - 1)}.Quantile(1 - (1-Confidence)/2)
	relative := (*e.Hi - e.Mean) / quantile / e.Mean
	return relative * relative
}
