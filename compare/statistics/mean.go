package statistics

import (
	"slices"

	"golang.org/x/perf/benchmath"
)

// EnoughForInterval is how many samples an interval needs: of two, Student's is so wide that it says nothing.
const EnoughForInterval = 3

// Estimate is a mean with its interval. Lo and Hi are nil with fewer than EnoughForInterval samples.
type Estimate struct {
	N      int
	Mean   float64
	Lo, Hi *float64
}

// Mean of samples with Student's interval. It is false for none.
func Mean(samples []float64) (Estimate, bool) {
	if len(samples) == 0 {
		return Estimate{}, false
	}
	// The copy: benchmath sorts what it is given.
	sample := benchmath.NewSample(slices.Clone(samples), &benchmath.DefaultThresholds)
	s := benchmath.AssumeNormal.Summary(sample, Confidence)
	e := Estimate{N: len(samples), Mean: s.Center} //nolint:misspell // the library's spelling
	if len(samples) >= EnoughForInterval {
		e.Lo, e.Hi = &s.Lo, &s.Hi
	}
	return e, true
}
