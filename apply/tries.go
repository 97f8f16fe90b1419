package apply

import "context"

// tries calls try until it returns something that is no stale write, a few times
// with a jittered wait in between, as settleBackoff says. Where each of them was
// stale it is exhausted, with the last stale write: what the caller makes a
// ContendedError of.
func tries(ctx context.Context, try func() error) (exhausted bool, err error) {
	for backoff := settleBackoff(); ; {
		if err := try(); !IsStaleWrite(err) {
			return false, err
		} else if backoff.Steps <= 1 {
			return true, err
		}
		if err := sleep(ctx, backoff.Step()); err != nil {
			return false, err
		}
	}
}
