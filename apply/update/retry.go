package update

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"coapply.dev/apply"
)

// attempt describes one attempt of a call to read, change and write an object.
type attempt struct {
	number, of int           // the number of this attempt, from 1, and the maximum number of attempts
	waited     time.Duration // the time since the end of the previous attempt; 0 in the first attempt
	overtaken  bool          // the write that was based on the object of the previous call (see handOn) was stale
	verbosity  int           // of log messages: 1 in the first attempt, and 0 in a retry, which is rare
}

// repeat calls the function try once for each attempt, until try returns false for again, or until the back-off
// permits no further attempt. Between attempts, it waits as wait.ExponentialBackoffWithContext does. Each attempt
// occupies the object's lane: the function enter waits for the lane. The lane is free between attempts. If the context
// ends during a wait, the error is an InterruptedError.
func repeat(
	ctx context.Context, backoff wait.Backoff, object apply.ObjectRef,
	enter func(context.Context) (inside context.Context, leave func(), err error),
	try func(context.Context, attempt) (again bool, err error),
) (attempts int, err error) {
	this, ended := attempt{of: backoff.Steps, verbosity: 1}, time.Now()
	result := wait.ExponentialBackoffWithContext(ctx, backoff, func(ctx context.Context) (done bool, refused error) {
		if this.number > 0 {
			this.waited, this.verbosity = time.Since(ended), 0
		}
		inside, leave, refused := enter(ctx)
		if refused != nil {
			return false, refused
		}
		defer leave() // even if the attempt panics
		this.number++
		var again bool
		again, err = try(inside, this)
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
	return this.number, result // an error of enter
}

// Back-offs for Config.Backoff. Steps is the number of attempts, which is one more than the number of waits. Jitter
// extends each wait at random, by up to Jitter times the wait. If the next wait would be longer than Cap, there is no
// further attempt.
var (
	// Default is used if Config.Backoff is zero: 10 attempts. The first wait is 10 to 20 ms, and each further wait is
	// 50 % longer, so that all waits together take 0.75 to 1.5 s. The 5 attempts of DefaultRetry are too few if several
	// processes write the same status and the API server is busy.
	Default = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 1}

	// DefaultRetry is retry.DefaultRetry of client-go: 5 attempts, with waits of 10 to 11 ms. It suits objects to which
	// many clients write a few times each.
	DefaultRetry = retry.DefaultRetry

	// Exponential permits 4 attempts, with waits of 100, 200 and 400 ms, 700 ms in total. It suits objects that are
	// written all the time, such as Nodes. It has no jitter, so writers that start at the same time also retry at the
	// same time: set Jitter if there are many writers.
	Exponential = wait.Backoff{Steps: 4, Duration: 100 * time.Millisecond, Factor: 2}
)
