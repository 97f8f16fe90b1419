package bench

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// step is a trial that is to be made.
type step struct {
	cell  int // index in the plan
	arm   string
	aa    bool
	block int
	seed  uint64
}

// order interleaves: in each block every arm of every cell runs once, in random order, so that what drifts with time
// meets all of them alike (randomised multiple interleaved trials: Abedi and Brecht, ICPE 2017). The same seed gives the
// same order.
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

// id names a trial, for files and for people.
func (s step) id(number int, cell compare.Cell) string {
	id := fmt.Sprintf("%04d-%s-%s", number, strings.ReplaceAll(cell.String(), " ", "-"), s.arm)
	if s.aa {
		id += "-aa"
	}
	return id
}

// overhead is what a trial takes beside its writing: objects prepared and removed, the watch, two readings of metrics.
const overhead = 400 * time.Millisecond

// converging is what it takes until all that arrived in an open loop has landed.
const converging = 500 * time.Millisecond

// perRound is what a round takes where a workload counts rounds: from 20 ms to 400 ms, with nodes.
const perRound = 300 * time.Millisecond

// queueing is how long intents in flight at the end wait in the queues of gmu-requeue, with crowd writers or more of an object.
const (
	queueing = 9 * time.Second
	crowd    = 16
)

// Estimate is how long a plan takes, roughly: of rounds it only knows the number.
func Estimate(plan []results.PlannedCell) time.Duration {
	var total time.Duration
	for _, cell := range plan {
		trials := cell.Blocks * len(cell.Arms)
		if cell.AA != "" {
			trials += cell.Blocks
		}
		total += time.Duration(trials) * estimate(cell.Cell)
		if slices.Contains(cell.Arms, "gmu-requeue") && cell.Writers >= crowd*cell.Objects {
			total += time.Duration(cell.Blocks) * queueing
		}
	}
	return total
}

func estimate(cell compare.Cell) time.Duration {
	if cell.Rounds > 0 {
		return overhead + time.Duration(cell.Rounds)*perRound
	}
	if cell.Rate > 0 {
		return overhead + cell.Warmup + cell.Duration + converging
	}
	return overhead + cell.Warmup + cell.Duration
}
