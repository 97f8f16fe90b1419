package workloads

import (
	"context"
	"slices"
	"sync"
	"time"
)

// gatePatience bounds a wait for writers that never come: one that failed before its pause, or whose trial ended.
const gatePatience = 5 * time.Second

// gate holds writers until all of them have come to the same step. Steps count from 0. Coming to a step means having
// passed those before it, so a writer that skipped one holds up nobody for longer than until its next.
type gate struct {
	mu      sync.Mutex
	steps   []int // of each writer, the furthest that it came to
	changed chan struct{}
}

func newGate(writers int) *gate {
	return &gate{steps: slices.Repeat([]int{-1}, writers), changed: make(chan struct{})}
}

// arrive says that a writer came to a step. It waits for nobody.
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

// wait returns when all writers came to the step, or patience is at its end; its error is that of the context.
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

// pass comes to a step and waits for the others.
func (g *gate) pass(ctx context.Context, writer, step int) error {
	g.arrive(writer, step)
	return g.wait(ctx, step)
}
