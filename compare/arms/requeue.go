package arms

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"

	"coapply.dev/apply"
	"coapply.dev/compare"
)

// gmuRequeue is a Reconcile that returns a stale write as an error. Each writer is a controller of its own, with the rate
// limiter that controller-runtime gives a queue: 5 ms after the first failure of an object, then twice as long each time.
func gmuRequeue(s compare.Session) writer {
	type item struct {
		writer int
		object string
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[item](5*time.Millisecond, 1000*time.Second)
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		key := item{intent.Writer, intent.Namespace + "/" + intent.Name}
		defer limiter.Forget(key)
		for {
			receipt, err := fromCache(ctx, s, intent)
			if !apply.IsStaleWrite(err) && !apierrors.IsAlreadyExists(err) {
				return receipt, err
			}
			select {
			case <-time.After(limiter.When(key)):
			case <-ctx.Done():
				return compare.Receipt{}, fmt.Errorf("the context ended before the queue's next turn; the last attempt: %w", err)
			}
		}
	}
}

// fromCache is one reconcile: it writes nothing if what the cache has is as it should be. It modifies the object that it
// was given without copying it, which is safe for as long as the cache returns copies.
func fromCache(ctx context.Context, s compare.Session, intent compare.Intent) (compare.Receipt, error) {
	object, err := read(ctx, s.Cache, intent)
	if err != nil {
		return compare.Receipt{}, err
	}
	before := object.DeepCopy()
	if err := intent.Modify(object); err != nil {
		return compare.Receipt{}, err
	}
	if equality.Semantic.DeepEqual(before, object) {
		return compare.Receipt{Skipped: true}, nil
	}
	return put(ctx, s.Client(intent.Manager), intent, object)
}
