package statistics

import (
	"math"
	"slices"
	"testing"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within || math.IsNaN(got) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
func TestHolm(t *testing.T) {
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		near(t, "holm", Holm([]float64{0.01, 0.04, 0.03, 0.005})[i], want, 1e-12)
	}
	if got := Holm([]float64{0.9, 0.8}); slices.Max(got) > 1 || Holm(nil) == nil {
		t.Errorf("above 1, or nil: %v", got)
	}
}

// Newcombe, Statistics in Medicine 17 (1998), table I, method 5.
func TestProportion(t *testing.T) {
	for _, c := range []struct {
		hits, n int
		lo, hi  float64
	}{
		{81, 263, 0.2527, 0.3676}, {15, 148, 0.0578, 0.1617}, {0, 20, 0, 0.1684}, {1, 29, 0.0009, 0.1776}, {20, 20, 0.8316, 1},
	} {
		lo, hi, ok := Proportion(c.hits, c.n)
		if !ok {
			t.Errorf("%d of %d: no interval", c.hits, c.n)
		}
		near(t, "lo", lo, c.lo, 0.00005)
		near(t, "hi", hi, c.hi, 0.00005)
	}
	for _, c := range [][2]int{{0, 0}, {3, 2}, {-1, 2}} {
		if _, _, ok := Proportion(c[0], c[1]); ok {
			t.Errorf("%d of %d has an interval", c[0], c[1])
		}
	}
}

func TestMean(t *testing.T) {
	// Student's sleep data (1908): R's t.test gives [0.70, 2.46] of the paired differences.
	e, _ := Mean([]float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4})
	near(t, "mean", e.Mean, 1.58, 1e-9)
	near(t, "lo", *e.Lo, 0.7001142, 1e-6)
	near(t, "hi", *e.Hi, 2.4598858, 1e-6)
	if two, _ := Mean([]float64{1, 2}); two.Lo != nil || two.Hi != nil || two.Mean != 1.5 {
		t.Errorf("two samples: %+v", two)
	}
	if one, _ := Mean([]float64{7}); one.Mean != 7 {
		t.Errorf("one sample: %+v", one)
	}
	if _, ok := Mean(nil); ok {
		t.Error("no samples have a mean")
	}
}

// R: t.test(log(a/b)) of the sleep data as logarithms.
func TestRatiosAreStudents(t *testing.T) {
	logs := []float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4}
	r := OfLogarithms(logs)
	near(t, "ratio", math.Log(r.Ratio), 1.58, 1e-9)
	near(t, "lo", math.Log(r.Lo), 0.7001142, 1e-6)
	near(t, "p of no difference", r.Beyond(0), 0.002833, 1e-6)
}

func TestRatiosRefuse(t *testing.T) {
	for reason, pairs := range map[string][2][]float64{
		"nothing landed":   {{1, 0}, {1, 1}},
		"no pairs":         {nil, nil},
		"half a pair":      {{1, 2}, {1}},
		"nothing to go by": {{1, 1}, {0, 1}},
	} {
		if r, err := Paired(pairs[0], pairs[1]); err == nil {
			t.Errorf("%s: %+v", reason, r)
		}
	}
	for _, logs := range [][]float64{{math.Log(4)}, {math.Log(2), math.Log(8)}} {
		if r := OfLogarithms(logs); math.Abs(r.Ratio-4) > 1e-9 || r.Lo != 0 || r.Beyond(0.05) < 1 || r.Within(9) < 1 {
			t.Errorf("%d pairs: %+v", len(logs), r)
		}
	}
}

func TestJudge(t *testing.T) {
	logs := func(ratio, noise float64) []float64 {
		all := make([]float64, 10)
		for i := range all {
			all[i] = math.Log(ratio) + noise*[]float64{-1, 1}[i%2]
		}
		return all
	}
	for _, c := range []struct {
		reason string
		c      Case
		others int // comparisons beside it that show nothing
		want   Verdict
	}{
		{"beyond the margin", Case{Ratio: OfLogarithms(logs(1.5, .05))}, 0, Better},
		{"the same, the other way round", Case{Ratio: OfLogarithms(logs(1/1.5, .05))}, 0, Worse},
		{"a cost: higher is worse", Case{Ratio: OfLogarithms(logs(1.5, .05)), Cost: true}, 0, Worse},
		{"one per cent is never better, however sure", Case{Ratio: OfLogarithms(logs(1.01, .001))}, 0, Equivalent},
		{"not 1, and perhaps not beyond the margin", Case{Ratio: OfLogarithms(logs(1.06, .03))}, 0, Undecided},
		{"so wide that it shows nothing", Case{Ratio: OfLogarithms(logs(1.1, .8))}, 0, Undecided},
		{"sure enough alone", Case{Ratio: OfLogarithms(logs(1.13, .07))}, 0, Better},
		{"not among twenty", Case{Ratio: OfLogarithms(logs(1.13, .07))}, 19, Undecided},
		{"no noise at all", Case{Ratio: OfLogarithms(logs(2, 0))}, 0, Better},
		{"two blocks say nothing", Case{Ratio: OfLogarithms([]float64{1, 1})}, 0, Undecided},
	} {
		family := []Case{c.c}
		for range c.others {
			family = append(family, Case{Ratio: OfLogarithms(logs(1.05, .8))})
		}
		if got := Judge(family, 0.05)[0]; got.Verdict != c.want {
			t.Errorf("%s: %s (p %.4f), want %s", c.reason, got.Verdict, got.P, c.want)
		}
	}
}
