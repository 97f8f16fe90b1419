package workloads

import (
	"context"
	"slices"
	"sync"
	"time"
)

// gatePatience is the maximum time to wait for other writers. A writer may never arrive at a step, because it failed
// before its pause or because the trial has ended.
const gatePatience = 5 * time.Second

// gate is a barrier with numbered steps, counted from 0: writers wait at a step until all writers have arrived at
// this step or a later one. So a writer that skips a step delays the others only until it arrives at its next step.
type gate struct {
	mu      sync.Mutex
	steps   []int // for each writer, the last step at which it has arrived
	changed chan struct{}
}

func newGate(writers int) *gate {
	return &gate{steps: slices.Repeat([]int{-1}, writers), changed: make(chan struct{})}
}

// arrive records that a writer has arrived at a step. It does not wait.
func (g *gate) arrive(writer, step int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if step <= g.steps[writer] {
		return
	}
	g.steps[writer] = step
	close(g.changed)
	g.changed = make(chan struct{})
}

// wait returns when all writers have arrived at the step, or after gatePatience. It returns an error only if ctx ends.
func (g *gate) wait(ctx context.Context, step int) error {
	patience := time.NewTimer(gatePatience)
	defer patience.Stop()
	for {
		g.mu.Lock()
		open, changed := slices.Min(g.steps) >= step, g.changed
		g.mu.Unlock()
		if open {
			return nil
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// pass records that a writer has arrived at a step, and waits for the other writers.
func (g *gate) pass(ctx context.Context, writer, step int) error {
	g.arrive(writer, step)
	return g.wait(ctx, step)
}
