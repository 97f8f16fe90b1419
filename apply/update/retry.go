package update

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"coapply.dev/apply"
)

// attempt describes one of the attempts of a call to read, change and write an object.
type attempt struct {
	number, of int           // the attempt's number, from 1, and the maximum number of attempts
	waited     time.Duration // the time since the end of the previous attempt
}

var errNoSteps = errors.New("the backoff allows no attempt: its Steps must be at least 1")

// enter is a function that waits for the object's lane, as lanes.Set.Enter does.
type enter func(context.Context) (inside context.Context, leave func(), err error)

// try is a function that makes one attempt. again reports whether to make a further attempt.
type try func(context.Context, attempt) (again bool, err error)

// repeat calls try, with the waits of wait.ExponentialBackoffWithContext, until no further attempt is
// needed or allowed. Each attempt holds the object's lane. The lane is not held between two attempts. If
// the context ends, a wait ends as well.
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
	return this.number, result // the error of enter
}

// once makes one attempt, and then leaves the lane, even if the attempt panics.
func once(inside context.Context, leave func(), try try, this attempt) (again bool, err error) {
	defer leave()
	return try(inside, this)
}

// Ready-made backoffs for Config.Backoff. Steps is the number of attempts, one more than the number
// of waits. Jitter adds to each wait a random part, up to Jitter times the wait. If a wait would be
// longer than Cap, there are no further attempts.
var (
	// Default is used if Config.Backoff is zero. It allows 10 attempts. The first wait is 10 to
	// 20 ms, each further wait is 50 % longer, and all waits last 0.75 to 1.5 s in total. The 5
	// attempts of DefaultRetry are too few if several processes write one status on a busy server.
	Default = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 1}

	// DefaultRetry is retry.DefaultRetry of client-go: 5 attempts, with waits of 10 to 11 ms. It
	// suits many clients that each write to the same object a few times.
	DefaultRetry = retry.DefaultRetry

	// DefaultBackoff is retry.DefaultBackoff of client-go: 4 attempts, with waits of 10, 50 and
	// 250 ms, each extended by up to 10 %. It suits an object that mostly one controller writes.
	// The wait of 1250 ms that is sometimes quoted never happens: there is no fifth attempt.
	DefaultBackoff = retry.DefaultBackoff

	// Exponential allows 4 attempts, with waits of 100, 200 and 400 ms, 700 ms in total. It suits
	// objects that are written all the time, such as Nodes. It has no jitter, so writers that start
	// at the same time also retry at the same time. Set Jitter if there are many writers.
	Exponential = wait.Backoff{Steps: 4, Duration: 100 * time.Millisecond, Factor: 2}
)

// Immediate returns a backoff that allows steps attempts without waits between them.
func Immediate(steps int) wait.Backoff {
	return wait.Backoff{Steps: steps}
}

// Fixed returns a backoff that allows steps attempts, with the wait between before each retry.
func Fixed(between time.Duration, steps int) wait.Backoff {
	return wait.Backoff{Steps: steps, Duration: between}
}
