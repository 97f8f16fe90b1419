package update

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
)

// RetryOnConflict calls fn until it succeeds, as long as it fails with a stale
// write. fn reads, changes and writes the object, and may wrap the error of the
// write. An ownership conflict is also HTTP 409, but no retry heals it: it is
// returned at once. See OnError for the rest of the contract.
//
// It knows of no object, and is in no lane: writers of one process make each other's
// writes stale here. Do and Status take turns.
func RetryOnConflict(
	ctx context.Context, backoff wait.Backoff, fn func(ctx context.Context) error,
) (attempts int, err error) {
	return OnError(ctx, backoff, apply.IsStaleWrite, fn)
}

// OnError calls fn until it succeeds, as long as it fails with an error that is
// retriable, and says how many times it was called. The error is
//
//   - nil after success;
//   - fn's own, as it is, when it is not retriable;
//   - an *ExhaustedError when the backoff allows no further attempt (backoff.Steps
//     attempts, or fewer when its Cap is reached);
//   - an *InterruptedError when the context has ended before an attempt: before the
//     first, so that fn is not called at all, or during the wait, which ends with it.
func OnError(
	ctx context.Context, backoff wait.Backoff, retriable func(error) bool, fn func(ctx context.Context) error,
) (attempts int, err error) {
	try := func(ctx context.Context, _ attempt) error { return fn(ctx) }
	return repeat(ctx, backoff, apply.ObjectRef{}, retriable, noLane, try)
}

// attempt says which of how many it is, and how long it waited for its turn.
type attempt struct {
	number, of int
	waited     time.Duration
}

var errNoSteps = errors.New("the backoff has no steps")

// enter waits for an attempt's turn in a lane, as lanes.Set.Enter does.
type enter func(context.Context) (inside context.Context, leave func(), err error)

func noLane(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, ctx.Err() }

// repeat is OnError for a known object, each attempt inside its lane. It keeps
// client-go's count of attempts, and leaves out the wait after which client-go makes
// no attempt any more.
func repeat(
	ctx context.Context, backoff wait.Backoff, object apply.ObjectRef,
	retriable func(error) bool, enter enter, try func(context.Context, attempt) error,
) (attempts int, err error) {
	if backoff.Steps < 1 {
		return 0, &ExhaustedError{Object: object, Err: errNoSteps}
	}
	this := attempt{of: backoff.Steps}
	for {
		inside, leave, refused := enter(ctx)
		if refused != nil {
			if ctx.Err() != nil {
				return this.number, &InterruptedError{Object: object, Attempts: this.number, Context: ctx.Err(), Err: err}
			}
			return this.number, refused
		}
		this.number++
		if err = once(inside, leave, try, this); err == nil || !retriable(err) {
			return this.number, err
		}
		this.waited = backoff.Step() // leaves no steps after the last attempt and at the cap
		if backoff.Steps < 1 {
			return this.number, &ExhaustedError{Object: object, Attempts: this.number, Err: err}
		}
		pause(ctx, this.waited)
	}
}

// once leaves the lane also when the attempt panics.
func once(inside context.Context, leave func(), try func(context.Context, attempt) error, this attempt) error {
	defer leave()
	return try(inside, this)
}

// pause ends with the context.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
