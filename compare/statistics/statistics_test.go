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

// Darwin's maize (Fisher, The Design of Experiments, section 21): 863 of 32,768 ways to one side.
func TestSignFlipOfFisher(t *testing.T) {
	maize := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
	near(t, "p", SignFlip(maize, 1), 2*863.0/32768, 1e-12)
}

func TestSignFlip(t *testing.T) {
	for _, c := range []struct {
		reason string
		d      []float64
		want   float64
	}{
		{"nothing to test", nil, 1},
		{"one pair shows nothing", []float64{3}, 1},
		{"five cannot reach 0.05", []float64{1, 2, 3, 4, 5}, 2.0 / 32},
		{"six can", []float64{-1, -2, -3, -4, -5, -6}, 2.0 / 64},
		{"rounding does not make a tie an extreme less", []float64{0.1, 0.2, -0.3, 0.1, 0.7, 0.1}, 26.0 / 64},
		{"no difference at all", []float64{0, 0, 0, 0, 0, 0, 0}, 1},
	} {
		near(t, c.reason, SignFlip(c.d, 1), c.want, 1e-12)
	}
}

// Beyond sixteen the signs are drawn: about the same p, and the same each time.
func TestSignFlipDrawn(t *testing.T) {
	d := []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48, 0, 0}
	near(t, "p", SignFlip(d, 1), 2*863.0/32768, 0.003)
	if SignFlip(d, 7) != SignFlip(d, 7) {
		t.Error("one seed gives two answers")
	}
}

// The example of Benjamini and Hochberg (1995): four of fifteen at 0.05.
func TestAdjust(t *testing.T) {
	p := []float64{
		0.4590e-1, 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1,
	}
	adjusted := Adjust(p)
	rejected := 0
	for _, a := range adjusted {
		if a <= 0.05 {
			rejected++
		}
	}
	if rejected != 4 {
		t.Errorf("%d rejected, want 4: %v", rejected, adjusted)
	}
	near(t, "the smallest", adjusted[1], 0.0015, 1e-12)
	near(t, "the fourth", adjusted[4], 0.035625, 1e-12)
	near(t, "the sixth", adjusted[6], 0.0298*15/7, 0.003) // no p is adjusted above that of a greater one
	near(t, "the largest", adjusted[14], 1, 1e-12)
	// R: p.adjust(c(0.01,0.02,0.03,0.04,0.05), "BH")
	if got := Adjust([]float64{0.01, 0.02, 0.03, 0.04, 0.05}); slices.ContainsFunc(got, func(a float64) bool { return math.Abs(a-0.05) > 1e-12 }) {
		t.Errorf("not all 0.05: %v", got)
	}
	if got := Adjust(nil); len(got) != 0 {
		t.Errorf("of none: %v", got)
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

func TestFairness(t *testing.T) {
	for _, c := range []struct {
		reason string
		shares []int
		want   float64
	}{
		{"all alike", []int{7, 7, 7, 7}, 1},
		{"one takes all", []int{8, 0, 0, 0}, 0.25},
		{"Jain's report: half get nothing", []int{5, 0, 5, 0}, 0.5},
		{"two to one", []int{2, 1}, 0.9},
	} {
		got, _ := Fairness(c.shares)
		near(t, c.reason, got, c.want, 1e-12)
	}
	if _, ok := Fairness([]int{0, 0}); ok {
		t.Error("nobody got anything, and that is fair")
	}
}

func TestMean(t *testing.T) {
	// Student's sleep data (1908): R's t.test gives [0.70, 2.46] of the paired differences.
	e, _ := Mean([]float64{1.2, 2.4, 1.3, 1.3, 0, 1, 1.8, 0.8, 4.6, 1.4})
	near(t, "mean", e.Mean, 1.58, 1e-9)
	near(t, "lo", *e.Lo, 0.7001142, 1e-6)
	near(t, "hi", *e.Hi, 2.4598858, 1e-6)
	unsorted := []float64{3, 1, 2}
	if _, _ = Mean(unsorted); unsorted[0] != 3 {
		t.Error("the samples were sorted in place")
	}
	if two, _ := Mean([]float64{1, 2}); two.Lo != nil || two.Hi != nil || two.Mean != 1.5 {
		t.Errorf("two samples: %+v", two)
	}
	if _, ok := Mean(nil); ok {
		t.Error("no samples have a mean")
	}
}
