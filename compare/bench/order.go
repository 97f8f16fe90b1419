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

// overhead is the estimated time of a trial besides its writes: to prepare and delete objects, to start the watches, and to
// read metrics twice.
const overhead = 400 * time.Millisecond

// converging is the estimated time from the last arrival of an open loop until the last intent ends.
const converging = 500 * time.Millisecond

// perRound is the estimated time of a round, in which each writer writes one intent. Measured rounds take 20 ms to 400 ms.
const perRound = 300 * time.Millisecond

// queueing is the estimated extra time at the end of a trial of the arm gmu-requeue, whose last intents wait in queues.
// Only cells with at least crowd writers per object need this extra time.
const (
	queueing = 9 * time.Second
	crowd    = 16
)

// Estimate returns the approximate time of a plan. It is less precise for cells with Rounds.
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
