package statistics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const (
	runs   = 2000
	blocks = 10
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

// TestCoverage is why Paired uses Student's interval: it covers the truth more often than the bootstrap over blocks.
func TestCoverage(t *testing.T) {
	for _, noise := range noises {
		random := rand.New(rand.NewPCG(1, 2))
		student, bootstrap := 0, 0
		for range runs {
			const truth = 1.3
			a, b := make([]float64, blocks), make([]float64, blocks)
			for i := range a {
				shared := 100 * math.Exp(0.3*random.NormFloat64())
				a[i], b[i] = truth*shared*math.Exp(noise.draw(random)), shared
			}
			r, err := Paired(a, b, 1)
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

// TestUnpairedCoverage: the ratio of two runs of which only the intervals are known.
func TestUnpairedCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	covered, differ := 0, 0
	for range runs {
		a, b := make([]float64, blocks), make([]float64, blocks)
		for i := range a {
			a[i], b[i] = 100*(1+0.1*random.NormFloat64()), 100*(1+0.2*random.NormFloat64())
		}
		ea, _ := Mean(a)
		eb, _ := Mean(b)
		r, err := Unpaired(ea, eb)
		if err != nil {
			t.Fatal(err)
		}
		if r.Lo <= 1 && 1 <= r.Hi {
			covered++
		}
		if r.P <= 0.05 {
			differ++
		}
	}
	near(t, "coverage", float64(covered)/runs, 0.95, 0.015)
	if covered+differ != runs {
		t.Errorf("the interval holds 1 %d times, p is small %d times", covered, differ)
	}
}

// TestAA: of a thousand comparisons of an arm with itself at most fifty are called faster or slower, at any noise, even
// without the correction for their number.
func TestAA(t *testing.T) {
	for _, deviation := range []float64{0.005, 0.05, 0.2} {
		random := rand.New(rand.NewPCG(5, uint64(1000*deviation)))
		words := map[string]int{}
		for range 1000 {
			a, b := make([]float64, blocks), make([]float64, blocks)
			for i := range a {
				a[i], b[i] = math.Exp(deviation*random.NormFloat64()), math.Exp(deviation*random.NormFloat64())
			}
			r, err := Paired(a, b, 1)
			if err != nil {
				t.Fatal(err)
			}
			word, _ := Word(r, r.P, 0.05)
			words[word]++
		}
		t.Log(deviation, words)
		if words[Faster]+words[Slower] > 50 {
			t.Errorf("noise %g: %v", deviation, words)
		}
	}
}

// TestSlowed: an arm that takes a tenth longer is found, with about that size.
func TestSlowed(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	found, logs := 0, 0.0
	for range 500 {
		a, b := make([]float64, blocks), make([]float64, blocks)
		for i := range a {
			shared := math.Exp(0.3 * random.NormFloat64())
			a[i], b[i] = shared*math.Exp(0.03*random.NormFloat64())/1.1, shared*math.Exp(0.03*random.NormFloat64())
		}
		r, err := Paired(a, b, 1)
		if err != nil {
			t.Fatal(err)
		}
		logs += math.Log(r.Ratio)
		if word, _ := Word(r, r.P, 0.05); word == Slower {
			found++
		}
	}
	near(t, "size", math.Exp(logs/500), 1/1.1, 0.005)
	if found < 475 {
		t.Errorf("found %d of 500", found)
	}
}
