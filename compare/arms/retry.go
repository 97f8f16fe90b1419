package arms

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/compare"
)

// gmuDefaultRetry does a get-modify-update in RetryOnConflict with the back-off DefaultRetry, like most controllers.
func gmuDefaultRetry(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			receipt, err = getModifyUpdate(ctx, s, intent)
			return err
		})
		return receipt, err
	}
}

// gmuExponential makes up to four attempts, with waits of 100, 200 and 400 ms. It stops when the context ends.
func gmuExponential(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		waited := wait.ExponentialBackoffWithContext(ctx, update.Exponential, func(ctx context.Context) (done bool, _ error) {
			receipt, err = getModifyUpdate(ctx, s, intent)
			return !apierrors.IsConflict(err), nil
		})
		if err == nil && waited != nil { // the context ended before the first attempt
			err = waited
		}
		return receipt, err
	}
}

// gmuUnbounded retries stale writes until a write succeeds or the context ends. It does not retry other errors. The
// delay before a retry is a random time below a limit. The limit doubles from 10 ms up to 1 s (full jitter: M.
// Brooker, Exponential Backoff And Jitter, AWS Architecture Blog, 2015).
func gmuUnbounded(s compare.Session) writer {
	const first, longest = 10 * time.Millisecond, time.Second
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		for ceiling := first; ; ceiling = min(2*ceiling, longest) {
			receipt, err := getModifyUpdate(ctx, s, intent)
			if !apply.IsStaleWrite(err) && !apierrors.IsAlreadyExists(err) {
				return receipt, err
			}
			select {
			case <-time.After(rand.N(ceiling)):
			case <-ctx.Done():
				return compare.Receipt{}, fmt.Errorf("the context ended before the next attempt; the last attempt failed: %w", err)
			}
		}
	}
}

// gmuReplace reads and retries like gmuDefaultRetry, but replaces a whole part of the object, such as the status or all
// finalizers. This mistake loses the updates of other writers despite the retries.
func gmuReplace(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		if intent.Replace == nil {
			return receipt, errors.New("arm gmu-replace needs Intent.Replace, which this workload does not set: use another arm")
		}
		c := s.Client(intent.Manager)
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			latest, err := read(ctx, c, intent)
			if err != nil {
				return err
			}
			if err := intent.Replace(latest); err != nil {
				return err
			}
			receipt, err = put(ctx, c, intent, latest)
			return err
		})
		return receipt, err
	}
}
