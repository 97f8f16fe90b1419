// Package contention measures how many intents land when many writers write to one object, by compare's trials: with its
// target, its watch, and its oracle.
package contention

import (
	"fmt"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/deployment"
)

// kind is a trial that runs once a round.
type kind struct {
	id, arm          string
	writers, objects int
	processes        int // that the writers are spread over; 0: they are in this one
	// duration that the trial counts, for those whose intents take seconds, and those that differ by little. The two whose
	// tails are compared have the same: what has not finished by then counts as if it took that long, so that it bounds
	// what can be seen of a tail.
	duration time.Duration
}

// Writers of the measures, and processes that they are spread over where they are.
const (
	many         = 64
	few          = 16
	processCount = 4
)

// The trials of a round.
const (
	plain          = "plain"
	lanes          = "lanes"
	gmuForever     = "gmu-forever"
	gmuJittered    = "gmu-jittered"
	lanesAlone     = "lanes-alone"
	plainDistinct  = "plain-distinct"
	lanesDistinct  = "lanes-distinct"
	plainProcesses = "plain-processes"
	lanesProcesses = "lanes-processes"
)

const (
	long = 8 * time.Second
	tail = 30 * time.Second
)

// warmUp counts for nothing: the first trial on a control plane is the slowest.
var warmUp = kind{id: "warm-up", arm: "ssa", writers: many, objects: many, duration: long}

var kinds = []kind{
	{id: plain, arm: "ssa", writers: many, duration: tail},
	{id: lanes, arm: "lanes", writers: many, duration: tail},
	{id: gmuForever, arm: "gmu-forever", writers: many, duration: long},
	{id: gmuJittered, arm: "gmu-unbounded", writers: many, duration: long},
	{id: lanesAlone, arm: "lanes", writers: 1},
	{id: plainDistinct, arm: "ssa", writers: many, objects: many, duration: long},
	{id: lanesDistinct, arm: "lanes", writers: many, objects: many, duration: long},
	{id: plainProcesses, arm: "ssa", writers: many, processes: processCount, duration: long},
	{id: lanesProcesses, arm: "lanes", writers: many, processes: processCount},
}

// spreads are the numbers of processes that few writers are spread over.
var spreads = []int{1, 4, 16}

// spread are the trials of a round in which few writers are spread over more and more processes.
var spread = func() (kinds []kind) {
	for _, n := range spreads {
		for _, arm := range []string{"ssa", "lanes"} {
			kinds = append(kinds, kind{id: spreadID(arm, n), arm: arm, writers: few, processes: n, duration: long})
		}
	}
	return kinds
}()

func spreadID(arm string, processes int) string { return fmt.Sprintf("%s-in-%d", arm, processes) }

// cell is what the trial runs in.
func (k kind) cell(quick bool) compare.Cell {
	p := compare.Parameters{
		Writers: k.writers, Objects: max(k.objects, 1), Managers: deployment.Managers,
		Warmup: time.Second, Duration: 4 * time.Second,
	}
	switch {
	case quick:
		p.Writers, p.Objects, p.Warmup, p.Duration = min(k.writers, 8), min(p.Objects, 8), 100*time.Millisecond, 300*time.Millisecond
	case k.duration > 0:
		p.Warmup, p.Duration = 2*time.Second, k.duration
	}
	p.Processes = min(max(k.processes, 1), p.Writers)
	return compare.Cell{Workload: deployment.Hot().Name, Parameters: p}
}
