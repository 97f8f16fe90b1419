package model

import "math"

// parameters that are fitted. Arms that send the same requests share them.
type parameters struct {
	cores float64 // see engine
	// repeated is the share of a write, without what managers cost, that Server-Side Apply does again when it lost a
	// race; of a PUT, what comes before the server compares versions.
	repeated float64
	// refused is the share of what comes after it that a PUT costs all the same when it is refused.
	refused float64
	// behind is what a landed write costs beside its request, as a share of it.
	behind float64
	// spread is the coefficient of variation of the work of a request, beyond that of a writer alone.
	spread float64
	// updated is what a manager that has updated the object costs a PUT, as a share of one that has applied.
	updated float64
	// bend is the power by which the cost of managers grows between the fewest and the most.
	bend float64
}

// parameter is one of them. The search knows it as a number without bounds; 0 is where it begins.
type parameter struct {
	name  string
	value func(p *parameters) *float64
	of    func(x float64) float64
}

var (
	effectiveCores = parameter{
		"effective cores", func(p *parameters) *float64 { return &p.cores }, func(x float64) float64 { return 2 * math.Exp(x) },
	}
	repeatedShare = parameter{
		"share of a write before its check", func(p *parameters) *float64 { return &p.repeated }, func(x float64) float64 { return logistic(x - 0.5) },
	}
	refusedShare = parameter{
		"share of the rest if refused", func(p *parameters) *float64 { return &p.refused }, logistic,
	}
	behindShare = parameter{
		"share beside a write", func(p *parameters) *float64 { return &p.behind }, func(x float64) float64 { return logistic(x - 1) },
	}
	furtherSpread = parameter{
		"further variation under load", func(p *parameters) *float64 { return &p.spread }, func(x float64) float64 { return 2 * logistic(x-1) },
	}
	updatedShare = parameter{
		"cost of a manager that updates, share", func(p *parameters) *float64 { return &p.updated }, logistic,
	}
	managersBend = parameter{
		"power of managers", func(p *parameters) *float64 { return &p.bend }, func(x float64) float64 { return 1 + 2*logistic(x-1.5) },
	}
)

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// parametersOf arms that apply, or that get, modify and update.
func parametersOf(applies bool) []parameter {
	if applies {
		return []parameter{effectiveCores, repeatedShare, behindShare, furtherSpread, managersBend}
	}
	return []parameter{effectiveCores, repeatedShare, refusedShare, furtherSpread, updatedShare, managersBend}
}

func parametersFrom(applies bool, x []float64) parameters {
	var p parameters
	for i, one := range parametersOf(applies) {
		*one.value(&p) = one.of(x[i])
	}
	return p
}
