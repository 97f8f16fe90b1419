// Package arms holds the ways to write that the benchmark compares. Each calls its libraries as those who use it do,
// because the report shows its code.
package arms

import (
	"context"
	"errors"
	"slices"

	"coapply.dev/compare"
)

// All returns the arms: without Server-Side Apply, by Server-Side Apply, the original ways of the systems of practice, and
// the negative controls.
func All() []compare.Arm {
	return slices.Concat(getModifyUpdates(), applies(), originals(), controls())
}

// writer is an arm: it writes one intent.
type writer func(context.Context, compare.Intent) (compare.Receipt, error)

// Write has Pause called once, however often the arm reads: an arm calls it after every read, so that its code does not
// differ from that of a user.
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

// made returns what makes the writer of a trial.
func made(arm func(compare.Session) writer) func(compare.Session) (compare.Writer, error) {
	return func(session compare.Session) (compare.Writer, error) { return arm(session), nil }
}

// madeWithCache is made for an arm that reads from a cache.
func madeWithCache(arm func(compare.Session) writer) func(compare.Session) (compare.Writer, error) {
	return func(session compare.Session) (compare.Writer, error) {
		if session.Cache == nil {
			return nil, errors.New("this arm reads from a cache: Session.Cache is needed")
		}
		return arm(session), nil
	}
}
