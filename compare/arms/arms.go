// Package arms contains the arms of the benchmark. An arm is one way to write objects. Each arm calls its libraries
// in the same way as user code, because the report shows the source code of the arms.
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

// writer is a function that implements an arm. A call writes one intent.
type writer func(context.Context, compare.Intent) (compare.Receipt, error)

// Write replaces the Pause of the intent, and then calls w. w can call the new Pause after every read: only the first
// call waits, by calling the original Pause. If the original Pause is nil, no call waits.
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

// made adapts the given function to the type of Arm.New.
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
