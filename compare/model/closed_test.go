package model

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestLambertW has the omega constant (OEIS A030178), W(e) = 1, and values of mpmath's lambertw.
func TestLambertW(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 0, 1: 0.5671432904097838, math.E: 1, 0.5: 0.35173371124919584, 10: 1.7455280027406994, 1e6: 11.383358086140052,
	} {
		if got := LambertW(x); math.Abs(got-want) > 1e-13*(1+want) {
			t.Errorf("LambertW(%v) = %.17g, want %.17g", x, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1e9).Draw(t, "x")
		if w := LambertW(x); math.Abs(w*math.Exp(w)-x) > 1e-9*(1+x) {
			t.Fatalf("w·exp(w) of %v is %v", x, w*math.Exp(w))
		}
	})
}

// table is the check of the closed forms by simulation that they come with: W = 3 ms, a = 1.5 ms, Z = 0, at most 5
// attempts, backoff of 10 to 11 ms or none. Goodput a second; simulated with windows that are all equal, lognormal with a
// coefficient of variation of 0.5, and exponential.
var table = []struct {
	writers, backoff              int
	equal, lognormal, exponential float64
	poisson, renewal              float64
	stale, giveUps, independent   float64 // of the lognormal one
}{
	{2, 10, 227, 232, 250, 203, 135, .21, .016, .001},
	{8, 10, 255, 282, 379, 324, 225, .61, .12, .095},
	{16, 10, 263, 332, 509, 419, 263, .74, .26, .25},
	{64, 10, 310, 467, 968, 665, 310, .90, .61, .61},
	{16, 0, 305, 437, 826, 621, 305, .88, .52, 0},
	{64, 0, 326, 608, 1672, 925, 326, .96, .80, 0},
}

func TestClosedForms(t *testing.T) {
	for _, row := range table {
		l := Loop{Writers: row.writers, Before: 1.5, Window: 3, Backoff: 1.05 * float64(row.backoff)}
		if got := 1000 * l.Poisson(); math.Abs(got/row.poisson-1) > 0.01 {
			t.Errorf("%d writers, backoff %d ms: Poisson %.4g, want %.4g", row.writers, row.backoff, got, row.poisson)
		}
		if got := 1000 * l.Renewal(); math.Abs(got/row.renewal-1) > 0.01 {
			t.Errorf("%d writers, backoff %d ms: renewal %.4g, want %.4g", row.writers, row.backoff, got, row.renewal)
		}
		if got := GiveUps(row.stale, 5); row.independent > 0 && math.Abs(got-row.independent) > 0.035 {
			t.Errorf("%d writers, backoff %d ms: gives up %.3f, want %.3f", row.writers, row.backoff, got, row.independent)
		}
	}
}

func TestClosedFormsAgreeWithThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		positive := rapid.Float64Range(0.1, 50)
		l := Loop{
			Writers: rapid.IntRange(1, 1000).Draw(t, "writers"), Before: positive.Draw(t, "before"),
			Window: positive.Draw(t, "window"),
		}
		nearly := l
		nearly.Think = 1e-9 // the other way to reckon it
		if x, y := l.Poisson(), nearly.Poisson(); l.Writers > 1 && math.Abs(x/y-1) > 1e-6 {
			t.Fatalf("%+v: %v by Lambert W, %v by bisection", l, x, y)
		}
		l.Backoff, l.Think = positive.Draw(t, "backoff"), positive.Draw(t, "think")
		lo, hi := l.Band()
		if x := l.Renewal(); x > lo*(1+1e-9) || hi < lo {
			t.Fatalf("%+v: renewal %v, band %v to %v", l, x, lo, hi)
		}
	})
}
