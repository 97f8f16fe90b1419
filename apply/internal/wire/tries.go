package wire

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// settleBackoff bounds how often settling may lose against writers that change the
// object between the read and the write, and spreads the tries.
func settleBackoff() wait.Backoff {
	return wait.Backoff{Steps: 8, Duration: 2 * time.Millisecond, Factor: 2, Jitter: 1}
}

// Tries calls try until its error is not stale, eight times at most, with jittered waits in
// between. If all were stale, exhausted is true and the error is the last one, of which the
// caller makes a ContendedError. stale is apply.IsStaleWrite.
func Tries(ctx context.Context, stale func(error) bool, try func() error) (exhausted bool, err error) {
	return Repeat(ctx, settleBackoff(), stale, try)
}

// Repeat calls try until worth returns false for its error, nil included, with the waits of the
// backoff in between. If the backoff allows no further try, exhausted is true and the error is
// the last one. If the context ends during a wait, the error is that of the context.
func Repeat(ctx context.Context, backoff wait.Backoff, worth func(error) bool, try func() error) (exhausted bool, err error) {
	for {
		if err := try(); !worth(err) {
			return false, err
		} else if backoff.Steps <= 1 {
			return true, err
		}
		if err := Sleep(ctx, backoff.Step()); err != nil {
			return false, err
		}
	}
}

// Sleep waits. If the context ends first, Sleep returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type beforeKey struct{}

// BeforeSending returns a context for one Apply. If the Applier has anything to send, it calls
// before, once, before its first request. The Apply goes on with the context that before returns,
// or ends with its error.
func BeforeSending(ctx context.Context, before func(context.Context) (context.Context, error)) context.Context {
	return context.WithValue(ctx, beforeKey{}, before)
}

// Before calls the function of BeforeSending, if there is one.
func Before(ctx context.Context) (context.Context, error) {
	if before, ok := ctx.Value(beforeKey{}).(func(context.Context) (context.Context, error)); ok {
		return before(ctx)
	}
	return ctx, nil
}
