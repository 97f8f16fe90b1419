package workloads

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestGateHoldsUntilAllHaveCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(2)
		passed := make(chan error, 1)
		go func() { passed <- g.pass(t.Context(), 0, 3) }()
		g.arrive(1, 2)
		synctest.Wait()
		if len(passed) != 0 {
			t.Fatal("the gate opened for a writer that was alone at its step")
		}
		g.arrive(1, 4) // it skipped step 3
		if err := <-passed; err != nil {
			t.Fatal(err)
		}
	})
}

func TestGateNeverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, began := newGate(2), time.Now()
		if err := g.pass(t.Context(), 0, 0); err != nil || time.Since(began) != gatePatience {
			t.Errorf("waited %v, %v; want patience to end after %v", time.Since(began), err, gatePatience)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := g.pass(gone, 0, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that ended: %v", err)
		}
	})
}
