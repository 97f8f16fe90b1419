package update

import (
	"context"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
)

// Repeat makes attempts without a lane.
func Repeat(ctx context.Context, backoff wait.Backoff, fn func(context.Context) error) (attempts int, err error) {
	noLane := func(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, ctx.Err() }
	return repeat(ctx, backoff, apply.ObjectRef{}, noLane, func(ctx context.Context, _ attempt) (again bool, err error) {
		err = fn(ctx)
		return err != nil, err
	})
}
