package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	runs   = 2000
	blocks = 8
	margin = 0.05
)

// noises are what trials may vary by, as logarithms with mean 0.
var noises = []struct {
	name    string
	draw    func(*rand.Rand) float64
	student [2]float64 // the coverage that Student's interval has to have
}{
	{"normal", func(r *rand.Rand) float64 { return 0.1 * r.NormFloat64() }, [2]float64{0.935, 0.965}},
	{"skewed", func(r *rand.Rand) float64 { return 0.1 * (r.ExpFloat64() - 1) }, [2]float64{0.88, 0.965}},
	{"with outliers", func(r *rand.Rand) float64 {
		if r.IntN(10) == 0 {
			return 0.4 * r.NormFloat64()
		}
		return 0.1 * r.NormFloat64()
	}, [2]float64{0.94, 0.99}},
}

// pairs makes up one comparison: what a block shares is in both.
func pairs(random *rand.Rand, truth float64, draw func(*rand.Rand) float64) (a, b []float64) {
	for range blocks {
		shared := 100 * math.Exp(0.3*random.NormFloat64())
		a, b = append(a, truth*shared*math.Exp(draw(random))), append(b, shared)
	}
	return a, b
}

// TestCoverage is why ratios have Student's interval: it covers the truth more often than the bootstrap over blocks.
func TestCoverage(t *testing.T) {
	for _, noise := range noises {
		random := rand.New(rand.NewPCG(1, 2))
		student, bootstrap := 0, 0
		for range runs {
			const truth = 1.3
			a, b := pairs(random, truth, noise.draw)
			r, err := Paired(a, b)
			if err != nil {
				t.Fatal(err)
			}
			if r.Lo <= truth && truth <= r.Hi {
				student++
			}
			if lo, hi := percentileBootstrap(a, b, random); lo <= truth && truth <= hi {
				bootstrap++
			}
		}
		t.Logf("%s: Student's %.3f, bootstrap %.3f", noise.name, float64(student)/runs, float64(bootstrap)/runs)
		if c := float64(student) / runs; c < noise.student[0] || c > noise.student[1] {
			t.Errorf("%s: Student's interval covers %.3f", noise.name, c)
		}
		if bootstrap >= student {
			t.Errorf("%s: the bootstrap covers more: use it", noise.name)
		}
	}
}

func percentileBootstrap(a, b []float64, random *rand.Rand) (lo, hi float64) {
	means := make([]float64, 400)
	for i := range means {
		for range a {
			j := random.IntN(len(a))
			means[i] += math.Log(a[j]/b[j]) / float64(len(a))
		}
	}
	slices.Sort(means)
	return math.Exp(means[10]), math.Exp(means[389])
}

// TestFamiliesErrSeldom: of families of twenty comparisons at most one in twenty says anything that is wrong, where it is
// hardest (every ratio at the edge of the margin) and where all arms are the same.
func TestFamiliesErrSeldom(t *testing.T) {
	for _, c := range []struct {
		reason string
		truth  float64
		wrong  []Verdict
	}{
		{"at the edge, as a claim of a difference", 1 + margin, []Verdict{Better, Worse}},
		{"beyond the edge, as a claim of none", 1 + 1.001*margin, []Verdict{Equivalent, Worse}},
		{"an arm against itself", 1, []Verdict{Better, Worse}},
	} {
		random := rand.New(rand.NewPCG(5, 6))
		wrong := 0
		for range runs / 2 {
			family := make([]Case, 20)
			for i := range family {
				a, b := pairs(random, c.truth, func(r *rand.Rand) float64 { return 0.03 * r.NormFloat64() })
				ratio, err := Paired(a, b)
				if err != nil {
					t.Fatal(err)
				}
				family[i].Ratio = ratio
			}
			if slices.ContainsFunc(Judge(family, margin), func(j Judged) bool { return slices.Contains(c.wrong, j.Verdict) }) {
				wrong++
			}
		}
		share := float64(wrong) / (runs / 2)
		t.Logf("%s: %.3f of the families", c.reason, share)
		if share > 0.065 { // 0.05, and what a thousand families may be off by
			t.Errorf("%s: %.3f of the families are wrong", c.reason, share)
		}
	}
}

// TestSlowed: an arm that takes a fifth longer is found among twenty comparisons, with about that size.
func TestSlowed(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	found, logs := 0, 0.0
	for range 500 {
		a, b := pairs(random, 1/1.2, func(r *rand.Rand) float64 { return 0.04 * r.NormFloat64() })
		r, err := Paired(a, b)
		if err != nil {
			t.Fatal(err)
		}
		logs += math.Log(r.Ratio)
		family := make([]Case, 20)
		family[0].Ratio = r
		if Judge(family, margin)[0].Verdict == Worse {
			found++
		}
	}
	near(t, "size", math.Exp(logs/500), 1/1.2, 0.005)
	if found < 450 {
		t.Errorf("found %d of 500", found)
	}
}
