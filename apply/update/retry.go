package update

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

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

// Ready-made backoffs. Steps is the number of attempts, one more than the number of waits.
// Jitter lengthens a wait by up to its share and never shortens it. A Cap also ends the
// attempts: at the first wait that would exceed it.
var (
	// Default is the backoff of an Updater whose Config has none: 10 attempts. The waits begin at
	// 10 to 20 ms and grow by half each time, 0.75 to 1.5 s in all. Where several processes write a
	// status at once, the 5 attempts of DefaultRetry run out on a busy server.
	Default = wait.Backoff{Steps: 10, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 1}

	// DefaultRetry is client-go's: 5 attempts, each wait 10 to 11 ms. For many
	// clients that write to one object a few times.
	DefaultRetry = retry.DefaultRetry

	// DefaultBackoff is client-go's: 4 attempts with waits of 10, 50 and 250 ms, each up to 10
	// % longer. For an object that one controller mostly owns. A fourth wait of 1250 ms, which
	// is sometimes quoted, never happens: it would come before a fifth attempt.
	DefaultBackoff = retry.DefaultBackoff

	// Exponential makes 4 attempts with waits of 100, 200 and 400 ms, 700 ms in all.
	// For objects that are written to all the time, such as nodes. Writers that start
	// together stay together without jitter: set it where there are many of them.
	Exponential = wait.Backoff{Steps: 4, Duration: 100 * time.Millisecond, Factor: 2}
)

// Immediate returns a backoff of this many attempts without waits.
func Immediate(steps int) wait.Backoff {
	return wait.Backoff{Steps: steps}
}

// Fixed returns a backoff of this many attempts with the same wait between them.
func Fixed(between time.Duration, steps int) wait.Backoff {
	return wait.Backoff{Steps: steps, Duration: between}
}
