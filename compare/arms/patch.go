package arms

import (
	"context"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// patchLock reads the object, modifies it, and sends the difference as a merge patch. The patch contains the
// resourceVersion of the read. Stale writes are retried.
func patchLock(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		c := s.Client(intent.Manager)
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			object, err := read(ctx, c, intent)
			if err != nil {
				return err
			}
			before := object.DeepCopy()
			if err := intent.Modify(object); err != nil {
				return err
			}
			if object.GetUID() == "" {
				receipt, err = put(ctx, c, intent, object)
				return err
			}
			locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
			receipt, err = patch(ctx, c, intent, object, locked)
			return err
		})
		return receipt, err
	}
}
