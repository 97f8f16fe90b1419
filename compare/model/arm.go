package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"coapply.dev/compare/results"
)

// armModel is an arm with what was measured of it alone, and what was fitted.
type armModel struct {
	alone
	parameters

	name   string
	policy policy
}

// costs of an attempt.
func (m armModel) costs(writers, managers int) costs {
	// What was measured of a writer alone has the work beside it in it.
	first := m.write.first / (1 + m.behind/m.cores)
	c := costs{reads: widened(m.reads, m.spread), writes: widened(m.writes, m.spread), behind: m.behind * first}
	once := (1 - m.repeated) * first / 2
	if m.policy.applies {
		c.arrive, c.merge, c.answer = once, m.repeated*first+m.further(float64(managers-1)), once
		return c
	}
	// Who updates a field that was applied takes it out of the entry of the apply.
	active := float64(min(writers, managers) - 1)
	further := m.further(float64(managers-1) - (1-m.updated)*active)
	read := m.read.at(managers)
	c.arrive, c.deliver = read/2, read/2
	c.merge, c.commit, c.answer, c.refused, c.again = m.repeated*first+further, once, once, m.refused, further
	return c
}

// further is what so many managers beyond the first cost a write.
func (m armModel) further(managers float64) float64 {
	if m.write.each == 0 {
		return 0
	}
	most := float64(slices.Max(m.managers) - 1)
	return m.write.each * most * math.Pow(managers/most, m.bend)
}

// widened has more variation, and the same mean.
func widened(s spread, variation float64) spread {
	if variation == 0 {
		return s
	}
	more := lognormal(variation)
	return func(r *rand.Rand) float64 { return s(r) * more(r) }
}

// lognormal has a mean of 1 and that coefficient of variation.
func lognormal(variation float64) spread {
	sigma := math.Sqrt(math.Log1p(variation * variation))
	var values sample
	for i := range quantiles {
		values.times = append(values.times, math.Exp(sigma*distuv.UnitNormal.Quantile((float64(i)+0.5)/quantiles)))
	}
	return resample(values)
}

// fittedWriters are those of the cells that are fitted: the others are for the check.
var fittedWriters = []int{1, 4, 16}

// sees says that the cell is one that the model is fitted on.
func (m armModel) sees(at place) bool {
	between := at.writers == 4 && m.knows(at.managers)
	return at.rtt == 0 && slices.Contains(fittedWriters, at.writers) && (slices.Contains(m.managers, at.managers) || between)
}

// knows says that so many managers are no more, and no fewer, than were measured with one writer alone.
func (m armModel) knows(managers int) bool {
	return managers >= slices.Min(m.managers) && managers <= slices.Max(m.managers)
}

// scene is a trial in a cell.
func (m armModel) scene(at place, warmup, duration float64, seed uint64) scene {
	return scene{
		costs: m.costs(at.writers, at.managers), writers: at.writers, policy: m.policy, rtt: milliseconds(at.rtt), cores: m.cores,
		warmup: warmup, duration: duration, seed: seed,
	}
}

// numbers of the arm for the report, with their units.
func (m armModel) numbers() results.Numbers {
	n := results.Numbers{
		"write alone, ms": m.write.first, "write, each further manager, ms": m.write.each,
	}
	if !m.policy.applies {
		n["read alone, ms"], n["read, each further manager, ms"] = m.read.first, m.read.each
	}
	for _, p := range parametersOf(m.policy.applies) {
		n[p.name] = *p.value(&m.parameters)
	}
	for name, v := range n {
		n[name] = short(v)
	}
	return n
}
