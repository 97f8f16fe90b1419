package ownership_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestTransferWaitsForTheLane has another one inside from the first, stale write on:
// each write is sent inside the lane, and he has his turn in between.
func TestTransferWaitsForTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, oldReplicas)
		transfer := w.migrate()
		_, leave, err := w.applier.Config().Lanes.Enter(t.Context(), theWeb("").Key())
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if undo, err := transfer.Do(ctx); !errors.Is(err, context.DeadlineExceeded) || undo != nil {
			t.Errorf("outside: %v %v", undo, err)
		}
		w.WantSent(read)
	})
}
