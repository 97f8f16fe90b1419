package bench

import (
	"maps"
	"math"
	"slices"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// pilot keeps the goodput of the first blocks of the cells whose number of blocks follows from a pilot.
type pilot map[int]map[string][]float64 // by cell and arm, in the order of the blocks

// add records a trial of a cell.
func (p pilot) add(cell int, t results.Trial) {
	goodput := t.Goodput()
	if t.Void != "" || t.AA || goodput == nil || *goodput <= 0 || t.Block >= decided.Now.Power.Pilot {
		return
	}
	if p[cell] == nil {
		p[cell] = map[string][]float64{}
	}
	p[cell][t.Arm] = append(p[cell][t.Arm], *goodput)
}

// blocks returns the number of blocks that a cell gets after its pilot: enough for the noisiest pair of its arms.
func (p pilot) blocks(cell int) int {
	power, needed := decided.Now.Power, 0
	arms := slices.Sorted(maps.Keys(p[cell]))
	for i, a := range arms {
		for _, b := range arms[:i] {
			x, y := p[cell][a], p[cell][b]
			logs := make([]float64, min(len(x), len(y)))
			for k := range logs {
				logs[k] = math.Log(x[k] / y[k])
			}
			needed = max(needed, statistics.Samples(logs, decided.Now.Margins.Square))
		}
	}
	return min(max(needed, power.Least), power.Most)
}
