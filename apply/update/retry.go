package update

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
)

// attempt is the number of an attempt, how many there may be, and how long it waited after the
// attempt before.
type attempt struct {
	number, of int
	waited     time.Duration
}

var errNoSteps = errors.New("the backoff has no steps")

// enter waits for an attempt's turn in a lane, as lanes.Set.Enter does.
type enter func(context.Context) (inside context.Context, leave func(), err error)

// try makes one attempt. again reports whether another attempt may succeed after this one failed.
type try func(context.Context, attempt) (again bool, err error)

// repeat makes attempts by wait.ExponentialBackoffWithContext, each inside the object's lane. The
// waits between the attempts are outside the lane. The context ends them.
func repeat(ctx context.Context, backoff wait.Backoff, object apply.ObjectRef, enter enter, try try) (attempts int, err error) {
	if backoff.Steps < 1 {
		return 0, &ExhaustedError{Object: object, Err: errNoSteps}
	}
	this, ended := attempt{of: backoff.Steps}, time.Now()
	result := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (done bool, refused error) {
		if this.number > 0 {
			this.waited = time.Since(ended)
		}
		inside, leave, refused := enter(ctx)
		if refused != nil {
			return false, refused
		}
		this.number++
		var again bool
		again, err = once(inside, leave, try, this)
		ended = time.Now()
		return !again, nil
	})
	switch {
	case result == nil:
		return this.number, err
	case errors.Is(result, context.Canceled), errors.Is(result, context.DeadlineExceeded):
		return this.number, &InterruptedError{Object: object, Attempts: this.number, Context: ctx.Err(), Err: err}
	case wait.Interrupted(result):
		return this.number, &ExhaustedError{Object: object, Attempts: this.number, Err: err}
	}
	return this.number, result // of the lane
}

// once makes an attempt and leaves the lane, also if the attempt panics.
func once(inside context.Context, leave func(), try try, this attempt) (again bool, err error) {
	defer leave()
	return try(inside, this)
}
