package workloads

import (
	"context"
	"sync"
	"time"
)

// together runs n functions at once and returns when all have ended, with the first error. It ends the context of the
// others.
func together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	var once sync.Once
	var first error
	for i := range n {
		group.Go(func() {
			if err := do(ctx, i); err != nil {
				once.Do(func() { first = err; cancel() })
			}
		})
	}
	group.Wait()
	return first
}

// sleepUntil reports whether the time came before the context ended.
func sleepUntil(ctx context.Context, due time.Time) bool {
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
