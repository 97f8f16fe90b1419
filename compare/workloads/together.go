package workloads

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// together runs n functions concurrently and returns when all have ended. After the first error, the context of
// the others ends, and the error is returned.
func together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
