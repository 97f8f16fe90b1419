package arms

import (
	"context"

	"k8s.io/client-go/util/retry"

	"coapply.dev/apply/lanes"
	"coapply.dev/compare"
)

// gmuLanes lets one writer of this process at a time read and write an object. The lane is free during back-off. Nobody
// else can have read inside of a lane, so that a barrier between read and write stands before it.
func gmuLanes(s compare.Session) writer {
	lanes := lanes.New()
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		if err := intent.Pause(ctx); err != nil {
			return receipt, err
		}
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			inside, leave, err := lanes.Enter(ctx, objectOf(intent).Key())
			if err != nil {
				return unsent(err)
			}
			defer leave()
			receipt, err = getModifyUpdate(inside, s, intent)
			return err
		})
		return receipt, err
	}
}
