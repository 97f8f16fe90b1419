package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// step is one planned trial of a run.
type step struct {
	cell  int // index of the cell in the plan
	arm   string
	aa    bool
	block int
	seed  uint64
}

// order returns all trials of the plan in the order of execution. In each block, every arm of every cell runs once,
// in random order. Changes over time therefore affect all arms alike. The same seed results in the same order. The
// method is called randomised multiple interleaved trials (Abedi and Brecht, ICPE 2017).
func order(plan []results.PlannedCell, seed uint64) []step {
	random := rand.New(rand.NewPCG(seed, 0))
	var steps []step
	for block := range maxBlocks(plan) {
		var here []step
		for i, cell := range plan {
			if block >= cell.Blocks {
				continue
			}
			for _, arm := range cell.Arms {
				here = append(here, step{cell: i, arm: arm, block: block})
			}
			if cell.AA != "" {
				here = append(here, step{cell: i, arm: cell.AA, aa: true, block: block})
			}
		}
		random.Shuffle(len(here), func(i, j int) { here[i], here[j] = here[j], here[i] })
		for i := range here {
			here[i].seed = random.Uint64()
		}
		steps = append(steps, here...)
	}
	return steps
}

func maxBlocks(plan []results.PlannedCell) int {
	blocks := 0
	for _, cell := range plan {
		blocks = max(blocks, cell.Blocks)
	}
	return blocks
}

func (s step) id(number int, cell compare.Cell) string {
	id := fmt.Sprintf("%04d-%s-%s", number, strings.ReplaceAll(cell.String(), " ", "-"), s.arm)
	if s.aa {
		id += "-aa"
	}
	return id
}
