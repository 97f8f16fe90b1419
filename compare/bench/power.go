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
type pilot map[int]map[string]map[int]float64 // by cell, arm and block

// add records a trial of a cell.
func (p pilot) add(cell int, t results.Trial) {
	goodput := t.Goodput()
	if t.Void != "" || t.AA || goodput == nil || *goodput <= 0 || t.Block >= decided.Now.Power.Pilot {
		return
	}
	if p[cell] == nil {
		p[cell] = map[string]map[int]float64{}
	}
	if p[cell][t.Arm] == nil {
		p[cell][t.Arm] = map[int]float64{}
	}
	p[cell][t.Arm][t.Block] = *goodput
}

// blocks returns the number of blocks that a cell gets after its pilot: enough for the noisiest pair of its arms.
func (p pilot) blocks(cell int) int {
	power, needed := decided.Now.Power, 0
	arms := slices.Sorted(maps.Keys(p[cell]))
	for i, a := range arms {
		for _, b := range arms[:i] {
			var logs []float64
			for block := range power.Pilot {
				x, y := p[cell][a][block], p[cell][b][block]
				if x > 0 && y > 0 { // neither trial of the pair is void
					logs = append(logs, math.Log(x/y))
				}
			}
			needed = max(needed, statistics.Samples(logs, decided.Now.Margins.Square))
		}
	}
	return min(max(needed, power.Least), power.Most)
}
