package trial

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestArrivals(t *testing.T) {
	draw := func(seed uint64) *arrivals {
		return newArrivals(1000, 10*time.Second, rand.New(rand.NewPCG(seed, arrivalNumbers)))
	}
	a := draw(1)
	if !slices.Equal(a.times, draw(1).times) {
		t.Error("the same seed gives other arrivals")
	}
	if slices.Equal(a.times, draw(2).times) {
		t.Error("another seed gives the same arrivals")
	}
	if n := len(a.times); n < 9500 || n > 10500 { // five standard deviations of a Poisson count
		t.Errorf("%d arrivals in 10 s at 1000 a second", n)
	}
	if !slices.IsSorted(a.times) || a.times[len(a.times)-1] >= 10*time.Second {
		t.Error("arrivals are out of order or too late")
	}
	longer := 0 // of exponential gaps a share of 1/e is longer than the mean
	for i := 1; i < len(a.times); i++ {
		if a.times[i]-a.times[i-1] > time.Millisecond {
			longer++
		}
	}
	if share := float64(longer) / float64(len(a.times)); share < .34 || share > .40 {
		t.Errorf("a share of %.3f of the gaps is longer than their mean, want about 0.368", share)
	}
	for i, want := range a.times {
		if got, ok := a.take(); !ok || got != want {
			t.Fatalf("arrival %d: %s %t, want %s", i, got, ok, want)
		}
	}
	if _, ok := a.take(); ok {
		t.Error("an arrival after the last")
	}
}
