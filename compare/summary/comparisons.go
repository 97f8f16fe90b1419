package summary

import (
	"slices"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Measures that arms are compared by.
const (
	goodputMeasure = "goodput"
	cpuMeasure     = "apiserver_cpu"
)

// compareAll compares each arm with the baseline of its cell, and the arm that ran twice with itself; then those that
// apply with their other rivals. The p of one measure are adjusted together.
func (r *reckoning) compareAll() (comparisons, rivals []results.Comparison) {
	comparisons, rivals = []results.Comparison{}, []results.Comparison{}
	for _, measure := range []string{goodputMeasure, cpuMeasure} {
		first := r.withBaseline(measure)
		family := r.judge(slices.Concat(first, r.withRivals(measure)), measure)
		comparisons, rivals = append(comparisons, family[:len(first)]...), append(rivals, family[len(first):]...)
	}
	return comparisons, rivals
}

func (r *reckoning) withBaseline(measure string) []results.Comparison {
	var family []results.Comparison
	for _, g := range r.groups {
		baseline := g.cell.Baseline
		if g.aa {
			baseline = g.arm
		}
		base, found := r.lookup(g.name(), baseline)
		if g.cell.Control || !found || baseline == g.arm && !g.aa || len(g.trials) == 0 {
			continue
		}
		if c, ok := r.compare(g, base, measure); ok {
			family = append(family, c)
		}
	}
	return family
}

// compare is without p among others and without a word. It is false where the measure is not there.
func (r *reckoning) compare(a, b group, measure string) (results.Comparison, bool) {
	c := results.Comparison{Cell: a.name(), Arm: a.arm, Baseline: b.arm, AA: a.aa, Measure: measure, P: 1}
	x, y := paired(a, b, measureOf(measure))
	c.Blocks = len(x)
	if len(x) == 0 && (a.each(measureOf(measure)) == nil || b.each(measureOf(measure)) == nil) {
		return c, false
	}
	ratio, err := statistics.Paired(x, y, r.run.Seed)
	if err != nil {
		c.Word, c.Why = statistics.NoVerdict, err.Error()
		return c, true
	}
	c.Ratio, c.Lo, c.Hi, c.P = ratio.Ratio, ratio.Lo, ratio.Hi, ratio.P
	if why := r.incomparable(a, b, measure); why != "" {
		c.Word, c.Why = statistics.NoVerdict, why
	}
	return c, true
}

// incomparable says why a ratio of two arms means nothing; "" if it does.
func (r *reckoning) incomparable(a, b group, measure string) string {
	switch {
	case r.void != "":
		return "the run is void"
	case a.result.NoVerdict != "":
		return a.result.NoVerdict
	case b.result.NoVerdict != "":
		return b.arm + ": " + b.result.NoVerdict
	case a.result.LostUpdates > 0:
		return "it lost updates, and who may lose them is quick"
	case b.result.LostUpdates > 0:
		return b.arm + " lost updates"
	case uneven[a.cell.Workload] != "":
		return uneven[a.cell.Workload]
	case measure == cpuMeasure && slices.ContainsFunc(a.trials, othersWrote):
		return "others write as well, and most of it is their CPU"
	}
	return ""
}

func measureOf(name string) func(results.Trial) *float64 {
	if name == cpuMeasure {
		return cpuPerIntent
	}
	return results.Trial.Goodput
}

// paired gives a measure of the blocks in which both arms have it.
func paired(a, b group, measure func(results.Trial) *float64) (x, y []float64) {
	byBlock := map[int]*float64{}
	for _, t := range b.trials {
		byBlock[t.Block] = measure(t)
	}
	for _, t := range a.trials {
		value, other := measure(t), byBlock[t.Block]
		if value != nil && other != nil {
			x, y = append(x, *value), append(y, *other)
		}
	}
	return x, y
}

// judge adjusts the p of comparisons for their number and finds the words. A/A is no comparison that someone asked for:
// its p is left alone. One that gets no verdict, with few blocks or without, takes no part: its p is no chance to err.
func (r *reckoning) judge(family []results.Comparison, measure string) []results.Comparison {
	counts := func(c results.Comparison) bool {
		return !c.AA && c.Word == "" && c.Blocks >= statistics.EnoughForVerdict
	}
	var asked []float64
	for _, c := range family {
		if counts(c) {
			asked = append(asked, c.P)
		}
	}
	adjusted := statistics.Adjust(asked)
	next := 0
	for i := range family {
		c := &family[i]
		c.Adjusted = c.P
		if counts(*c) {
			c.Adjusted = adjusted[next]
			next++
		}
		if c.Word == "" {
			c.Word, c.Why = word(*c, measure, r.run.Margin)
		}
	}
	return family
}

// word turns a cost upside down: an arm that costs more is slower.
func word(c results.Comparison, measure string, margin float64) (found, why string) {
	ratio := statistics.Ratio{N: c.Blocks, Ratio: c.Ratio, Lo: c.Lo, Hi: c.Hi, P: c.P}
	if measure == cpuMeasure && c.Lo > 0 {
		ratio.Ratio, ratio.Lo, ratio.Hi = 1/c.Ratio, 1/c.Hi, 1/c.Lo
	}
	return statistics.Word(ratio, c.Adjusted, margin)
}

// stated is the comparison as the report states it.
func (r *reckoning) stated(cell, arm, other, measure string) (results.Comparison, bool) {
	for _, c := range slices.Concat(r.comparisons, r.rivals) {
		if c.Cell == cell && c.Arm == arm && c.Baseline == other && c.Measure == measure && !c.AA {
			return c, true
		}
	}
	return r.between(cell, arm, other, measure)
}

// between is a comparison of any two arms of a cell, for hypotheses; it is not adjusted, as those were written down
// before. The word is "" where it cannot be had.
func (r *reckoning) between(cell, arm, other, measure string) (results.Comparison, bool) {
	a, found := r.lookup(cell, arm)
	b, foundOther := r.lookup(cell, other)
	if !found || !foundOther {
		return results.Comparison{}, false
	}
	c, ok := r.compare(a, b, measure)
	if !ok {
		return c, false
	}
	return r.judge([]results.Comparison{c}, measure)[0], true
}
