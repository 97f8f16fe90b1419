// Package arms has the arms of the benchmark: the ways to write that it compares. Each arm calls its libraries as users
// of these libraries do, because the report shows the arm's code.
package arms

import (
	"context"
	"errors"
	"slices"

	"coapply.dev/compare"
)

// All returns the arms in this order: without Server-Side Apply, with Server-Side Apply, common first attempts, and the
// negative controls.
func All() []compare.Arm {
	return slices.Concat(getModifyUpdates(), applies(), originals(), controls())
}

// writer is the function of an arm that writes one intent.
type writer func(context.Context, compare.Intent) (compare.Receipt, error)

// Write calls the function of the arm. The arm may call intent.Pause after every read; only the first call pauses. So
// the code of an arm need not differ from a user's code.
func (w writer) Write(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
	pause, paused := intent.Pause, intent.Pause == nil
	intent.Pause = func(ctx context.Context) error {
		if paused {
			return nil
		}
		paused = true
		return unsent(pause(ctx))
	}
	receipt, err := w(ctx, intent)
	if err != nil {
		return compare.Receipt{}, err
	}
	return receipt, nil
}

// made returns a function for Arm.New. It makes the writer from a function of this package.
func made(arm func(compare.Session) writer) func(compare.Session) (compare.Writer, error) {
	return func(session compare.Session) (compare.Writer, error) { return arm(session), nil }
}

// madeWithCache is like made, but for an arm that reads from a cache.
func madeWithCache(arm func(compare.Session) writer) func(compare.Session) (compare.Writer, error) {
	return func(session compare.Session) (compare.Writer, error) {
		if session.Cache == nil {
			return nil, errors.New("this arm reads from a cache: Session.Cache is needed")
		}
		return arm(session), nil
	}
}
