package arms

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/compare"
)

// gmuRequeue imitates a controller whose Reconcile function returns a stale write as an error. Each writer is a
// separate controller. After a stale write, the writer waits with the back-off of a controller-runtime queue: 5 ms
// after the first failure, and twice as long after each further failure.
func gmuRequeue(s compare.Session) writer {
	type item struct {
		writer int
		object string
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[item](5*time.Millisecond, 1000*time.Second)
	var written sync.Map // the resourceVersion of the last write to each item
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		key := item{intent.Writer, intent.Namespace + "/" + intent.Name}
		defer limiter.Forget(key)
		if last, ok := written.Load(key); ok {
			awaitOwn(ctx, s.Cache, intent, last.(string))
		}
		for {
			receipt, err := reconcile(ctx, s, intent)
			if err == nil && !receipt.Skipped {
				written.Store(key, receipt.ResourceVersion)
			}
			if !apply.IsStaleWrite(err) && !apierrors.IsAlreadyExists(err) {
				return receipt, err
			}
			select {
			case <-time.After(limiter.When(key)):
			case <-ctx.Done():
				return compare.Receipt{}, fmt.Errorf("the context ended before the next attempt; the last attempt failed: %w", err)
			}
		}
	}
}

// reconcile does one get-modify-update with a read from the cache. It sends nothing if the object already has the wanted values.
// It modifies the object from the cache without copying it first. This is safe because by default the cache returns copies.
func reconcile(ctx context.Context, s compare.Session, intent compare.Intent) (compare.Receipt, error) {
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

// awaitOwn waits until the cache contains the writer's last write, whose watch event would start the next reconcile.
func awaitOwn(ctx context.Context, cache client.Reader, intent compare.Intent, last string) {
	object := named(intent)
	for ctx.Err() == nil {
		if err := cache.Get(ctx, client.ObjectKeyFromObject(object), object, client.UnsafeDisableDeepCopy); err != nil {
			return // the following reconcile reports the error
		}
		if order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), last); err != nil || order >= 0 {
			return
		}
		time.Sleep(500 * time.Microsecond)
	}
}
