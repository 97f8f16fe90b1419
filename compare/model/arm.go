package model

import (
	"math"
	"math/rand/v2"
	"slices"

	"coapply.dev/compare/results"
)

// armModel is an arm with what was measured of it alone, and what was fitted.
type armModel struct {
	alone
	policy policy

	cores float64 // see engine
	// repeated is the share of a write, without what managers cost, that Server-Side Apply does again when it lost a
	// race; of a PUT, what comes before the server compares versions.
	repeated float64
	// behind is what a landed write costs beside its request, as a share of it.
	behind float64
	// spread is the coefficient of variation of the work of a request, beyond that of a writer alone.
	spread float64
	// updated is what a manager that has updated the object costs a PUT, as a share of one that has applied.
	updated float64
}

// parameter that is fitted. The search knows it as a number without bounds; 0 is where it begins.
type parameter struct {
	name  string
	value func(m *armModel) *float64
	of    func(x float64) float64
}

var (
	effectiveCores = parameter{
		"effective cores", func(m *armModel) *float64 { return &m.cores }, func(x float64) float64 { return 2 * math.Exp(x) },
	}
	repeatedShare = parameter{
		"repeated share of a write", func(m *armModel) *float64 { return &m.repeated }, func(x float64) float64 { return logistic(x - 0.5) },
	}
	behindShare = parameter{
		"work beside a write, share", func(m *armModel) *float64 { return &m.behind }, func(x float64) float64 { return logistic(x - 1) },
	}
	furtherSpread = parameter{
		"further variation under load", func(m *armModel) *float64 { return &m.spread }, func(x float64) float64 { return 2 * logistic(x-1) },
	}
	updatedShare = parameter{
		"cost of a manager that updates, share", func(m *armModel) *float64 { return &m.updated }, logistic,
	}
)

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// parameters of the arm. In lanes nobody else writes meanwhile.
func (p policy) parameters() []parameter {
	switch {
	case p.applies:
		return []parameter{effectiveCores, repeatedShare, behindShare, furtherSpread}
	case p.lanes:
		return []parameter{updatedShare}
	}
	return []parameter{effectiveCores, repeatedShare, updatedShare, furtherSpread}
}

// with sets the parameters.
func (m armModel) with(x []float64) armModel {
	m.cores, m.repeated, m.updated = 2, 0.5, 1
	for i, p := range m.policy.parameters() {
		*p.value(&m) = p.of(x[i])
	}
	return m
}

// costs of an attempt.
func (m armModel) costs(writers, managers int) costs {
	// What was measured of a writer alone has the work beside it in it.
	first, further := m.write.first/(1+m.behind/m.cores), m.write.each*float64(managers-1)
	c := costs{reads: widened(m.reads, m.spread), writes: widened(m.writes, m.spread), behind: m.behind * first}
	once := (1 - m.repeated) * first / 2
	if m.policy.applies {
		c.arrive, c.merge, c.answer = once, m.repeated*first+further, once
		return c
	}
	// Who updates a field that was applied takes it out of the entry of the apply.
	further -= (1 - m.updated) * m.write.each * float64(min(writers, managers)-1)
	read := m.read.at(managers)
	c.arrive, c.deliver = read/2, read/2
	c.merge, c.commit, c.answer, c.again = m.repeated*first+further, once, once, further
	return c
}

// widened has more variation, and the same mean.
func widened(s spread, variation float64) spread {
	if variation == 0 {
		return s
	}
	more := lognormal(variation)
	return func(r *rand.Rand) float64 { return s(r) * more(r) }
}

// lognormal has that coefficient of variation.
func lognormal(variation float64) spread {
	sigma := math.Sqrt(math.Log1p(variation * variation))
	return func(r *rand.Rand) float64 { return math.Exp(sigma*r.NormFloat64() - sigma*sigma/2) }
}

// fittedWriters are those of the cells that are fitted: the others are for the check.
var fittedWriters = []int{1, 4, 16}

// sees says that the cell is one that the model is fitted on.
func (m armModel) sees(at place) bool {
	return at.rtt == 0 && slices.Contains(fittedWriters, at.writers) && slices.Contains(m.managers, at.managers)
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
	for _, p := range m.policy.parameters() {
		n[p.name] = *p.value(&m)
	}
	return n
}
