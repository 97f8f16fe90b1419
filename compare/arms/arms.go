// Package arms has the arms of the benchmark: the ways to write that the benchmark compares. Each arm calls its
// libraries as users of these libraries do, because the report shows the arm's code.
package arms

import (
	"context"
	"errors"
	"slices"

	"coapply.dev/compare"
)

// All returns the arms in this order: arms without Server-Side Apply, arms with Server-Side Apply, arms that write
// like existing systems, and the negative controls.
func All() []compare.Arm {
	return slices.Concat(getModifyUpdates(), applies(), originals(), controls())
}

// writer is the function of an arm that writes one intent.
type writer func(context.Context, compare.Intent) (compare.Receipt, error)

// Write calls the function of the arm. It replaces intent.Pause by a function that pauses only in the first call, and
// never if intent.Pause is nil. So an arm can call intent.Pause after every read, without a condition.
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
			return nil, errors.New("the arm reads from a cache, but Session.Cache is nil")
		}
		return arm(session), nil
	}
}
