package update

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
)

// RetryOnConflict calls fn again as long as it fails with a stale write. fn reads, changes and
// writes the object, and may wrap the error of the write. An ownership conflict, also HTTP 409,
// is returned at once, as no retry heals it. See OnError for the rest of the contract.
//
// It does not know the object and is in no lane, so writers of one process make each other's
// writes stale. Do and Status take turns instead.
func RetryOnConflict(
	ctx context.Context, backoff wait.Backoff, fn func(ctx context.Context) error,
) (attempts int, err error) {
	return OnError(ctx, backoff, apply.IsStaleWrite, fn)
}

// OnError calls fn again as long as it fails with an error that is retriable, and returns how
// many times it was called. The error is
//
//   - nil after success;
//   - that of fn, as it is, when it is not retriable;
//   - an *ExhaustedError when the backoff allows no further attempt (backoff.Steps
//     attempts, or fewer when its Cap is reached);
//   - an *InterruptedError when the context has ended before an attempt: before the
//     first, so that fn is not called at all, or during the wait, which ends with it.
func OnError(
	ctx context.Context, backoff wait.Backoff, retriable func(error) bool, fn func(ctx context.Context) error,
) (attempts int, err error) {
	return repeat(ctx, backoff, apply.ObjectRef{}, noLane, func(ctx context.Context, _ attempt) (again bool, err error) {
		err = fn(ctx)
		return err != nil && retriable(err), err
	})
}

// attempt is the number of an attempt, how many there may be, and how long it waited for its
// turn.
type attempt struct {
	number, of int
	waited     time.Duration
}

var errNoSteps = errors.New("the backoff has no steps")

// enter waits for an attempt's turn in a lane, as lanes.Set.Enter does.
type enter func(context.Context) (inside context.Context, leave func(), err error)

func noLane(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, ctx.Err() }

// try makes one attempt. again reports whether another attempt may succeed after this one failed.
type try func(context.Context, attempt) (again bool, err error)

// repeat is OnError for a known object, each attempt inside its lane. It makes as many attempts
// as client-go does, without client-go's wait after the last one.
func repeat(ctx context.Context, backoff wait.Backoff, object apply.ObjectRef, enter enter, try try) (attempts int, err error) {
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
		var again bool
		if again, err = once(inside, leave, try, this); !again {
			return this.number, err
		}
		this.waited = backoff.Step() // Steps is 0 after the last attempt, and once the cap is reached
		if backoff.Steps < 1 {
			return this.number, &ExhaustedError{Object: object, Attempts: this.number, Err: err}
		}
		pause(ctx, this.waited)
	}
}

// once makes an attempt and leaves the lane, also if the attempt panics.
func once(inside context.Context, leave func(), try try, this attempt) (again bool, err error) {
	defer leave()
	return try(inside, this)
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
