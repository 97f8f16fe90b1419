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

// Tries calls try until what it returns is not stale, a few times with a jittered wait
// in between. Where each of them was stale it is exhausted, with the last stale write:
// what the caller makes a ContendedError of. stale is apply.IsStaleWrite.
func Tries(ctx context.Context, stale func(error) bool, try func() error) (exhausted bool, err error) {
	return Repeat(ctx, settleBackoff(), stale, try)
}

// Repeat calls try, again and again after a wait of the backoff, for as long as its error
// is worth it. Where that was all of the backoff it is exhausted, with the last error. It
// ends with the context.
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

// Sleep waits, or ends with the error of the context.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
