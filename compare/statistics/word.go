package statistics

import (
	"fmt"
	"math"
)

// Words for what a ratio shows.
const (
	Faster       = "faster"
	Slower       = "slower"
	NoDifference = "no difference shown"
	Equivalent   = "equivalent"
	Unstable     = "unstable"
	NoVerdict    = "no verdict"
)

// EnoughForVerdict is how many blocks a verdict needs: with five the exact test cannot reach 0.05.
const EnoughForVerdict = 6

// widest is the half-width of an interval, as a share of the ratio, above which it shows nothing.
const widest = 0.25

// Word says what a ratio of goodput shows, and why where that is not plain. margin is the share within which two arms
// are equivalent, adjusted the p among its comparisons.
//
// Of a cost, such as CPU an intent, give the ratio the other way round: faster is better.
//
// Faster and slower need three things: an interval without 1, an adjusted p of at most 0.05, and a ratio beyond the
// margin, so that one per cent is never called faster. Equivalent needs the whole interval within the margin.
func Word(r Ratio, adjusted, margin float64) (word, why string) {
	switch {
	case r.N < EnoughForVerdict:
		return NoVerdict, fmt.Sprintf("too few trials for a verdict: %d blocks, and it needs %d", r.N, EnoughForVerdict)
	case r.Lo == 0:
		return NoVerdict, "there is no interval"
	}
	// A bound below 1 is mirrored, so that faster and slower are treated alike.
	within := func(ratio float64) bool { return math.Abs(math.Log(ratio)) <= math.Log1p(margin) }
	wide := math.Sqrt(r.Hi/r.Lo)-1 > widest
	beyond := (r.Lo > 1 && !within(r.Lo)) || (r.Hi < 1 && !within(r.Hi))
	apart := r.Lo > 1 || r.Hi < 1
	switch {
	case within(r.Lo) && within(r.Hi):
		return Equivalent, ""
	case wide && !beyond:
		return Unstable, fmt.Sprintf("the interval reaches %.0f %% to each side, more than %.0f %%",
			100*(math.Sqrt(r.Hi/r.Lo)-1), 100*widest)
	case !apart || within(r.Ratio):
		return NoDifference, ""
	case adjusted > significant:
		return NoDifference, fmt.Sprintf("the interval leaves 1 out, but of so many comparisons one would (p %.3f)", adjusted)
	case r.Ratio > 1:
		return Faster, ""
	}
	return Slower, ""
}
