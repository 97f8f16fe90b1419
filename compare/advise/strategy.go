package advise

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"coapply.dev/compare/results"
)

// Situation is where a way of writing is looked for.
type Situation struct {
	Writers, Objects, Managers int
	RTT                        time.Duration
}

// Strategy is an arm as it did in the cell that is nearest to the situation.
type Strategy struct {
	Arm    string
	Result results.Result
	// Comparison with the cell's baseline; nil for the baseline itself.
	Comparison *results.Comparison
	// Against says what speaks against the arm: lost updates, intents given up; "" for nothing.
	Against string
}

// Advice is the arms of one cell, the best first, and how far the cell is from the situation.
type Advice struct {
	Cell       string
	Strategies []Strategy
	// Exact says that the situation itself was measured; otherwise the nearest cell stands for it.
	Exact bool
}

// For ranks the arms of the cell of hot-object that is nearest to the situation: those that lost or gave up nothing
// first, then by goodput. ok is false if nothing was measured that could be advised from.
func For(r results.Results, s Situation) (advice Advice, ok bool) {
	if r.Void != "" {
		return Advice{}, false
	}
	nearest, found := math.Inf(1), ""
	for _, c := range r.Cells {
		if !candidate(c) {
			continue
		}
		if d := s.distance(c); d < nearest {
			nearest, found = d, c.Cell().String()
		}
	}
	if found == "" {
		return Advice{}, false
	}
	advice = Advice{Cell: found, Exact: nearest == 0}
	for _, c := range r.Cells {
		if candidate(c) && c.Cell().String() == found {
			advice.Strategies = append(advice.Strategies, strategy(r, c))
		}
	}
	slices.SortStableFunc(advice.Strategies, better)
	return advice, true
}

func candidate(c results.Result) bool {
	return c.Workload == "hot-object" && !c.Control && !c.AA && c.Goodput != nil && c.NoVerdict == ""
}

// distance in powers of two; one millisecond of round-trip time counts as one of them.
func (s Situation) distance(c results.Result) float64 {
	log := func(a, b int) float64 { return math.Abs(math.Log2(float64(a) / float64(b))) }
	rtt := math.Abs(float64(s.RTT)/float64(time.Millisecond) - c.RTTms)
	return log(s.Writers, c.Writers) + log(s.Objects, c.Objects) + log(s.Managers, c.Managers) + rtt
}

func strategy(r results.Results, c results.Result) Strategy {
	s := Strategy{Arm: c.Arm, Result: c}
	var against []string
	if c.LostUpdates > 0 {
		against = append(against, "loses updates")
	}
	if c.GiveUps > 0 {
		against = append(against, "gives up intents")
	}
	s.Against = strings.Join(against, ", ")
	for i, comparison := range r.Comparisons {
		if comparison.Measure == "goodput" && !comparison.AA && comparison.Arm == c.Arm && comparison.Cell == c.Cell().String() {
			s.Comparison = &r.Comparisons[i]
		}
	}
	return s
}

func better(a, b Strategy) int {
	if (a.Against == "") != (b.Against == "") {
		if a.Against == "" {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.Result.Goodput.Mean, a.Result.Goodput.Mean)
}
