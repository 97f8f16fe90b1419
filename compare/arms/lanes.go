package arms

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/client-go/util/retry"

	"coapply.dev/compare"
)

// gmuLanes lets one writer of this process at a time read and write an object. The lane is free during back-off. Nobody
// else can have read inside of a lane, so that a barrier between read and write stands before it.
func gmuLanes(s compare.Session) writer {
	var objects lanes
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		if err := intent.Pause(ctx); err != nil {
			return receipt, err
		}
		key := fmt.Sprintf("%v %s/%s", intent.Kind, intent.Namespace, intent.Name)
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			leave, err := objects.enter(ctx, key)
			if err != nil {
				return err
			}
			defer leave()
			receipt, err = getModifyUpdate(ctx, s, intent)
			return err
		})
		return receipt, err
	}
}

// lanes are a lock for each key. Who waits for a channel is served in order.
type lanes struct{ byKey sync.Map }

// enter waits for its turn, or for the end of the context.
func (l *lanes) enter(ctx context.Context, key string) (leave func(), err error) {
	value, _ := l.byKey.LoadOrStore(key, make(chan struct{}, 1))
	lane := value.(chan struct{})
	select {
	case lane <- struct{}{}:
		return func() { <-lane }, nil
	case <-ctx.Done():
		return nil, unsent(fmt.Errorf("waiting for the lane of %s: %w", key, ctx.Err()))
	}
}
