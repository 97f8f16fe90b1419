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

// order returns all trials of the plan in the order of execution. In each block, the cells come in random order, and the
// arms of a cell run one after the other, because neighbouring trials share the state of the machine. The arm that begins
// changes from block to block, so that no arm always comes first. The same seed results in the same order.
func order(plan []results.PlannedCell, seed uint64) []step {
	random := rand.New(rand.NewPCG(seed, 0))
	var steps []step
	for block := range maxBlocks(plan) {
		for _, i := range random.Perm(len(plan)) {
			cell := plan[i]
			if block >= cell.Blocks {
				continue
			}
			var arms []step
			for _, arm := range cell.Arms {
				arms = append(arms, step{cell: i, arm: arm, block: block, seed: random.Uint64()})
			}
			if cell.AA != "" {
				arms = append(arms, step{cell: i, arm: cell.AA, aa: true, block: block, seed: random.Uint64()})
			}
			first := block % len(arms)
			steps = append(append(steps, arms[first:]...), arms[:first]...)
		}
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
