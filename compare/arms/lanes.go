package arms

import (
	"context"

	"k8s.io/client-go/util/retry"

	"coapply.dev/apply/lanes"
	"coapply.dev/compare"
)

// gmuLanes is get-modify-update in which the writers of a process take turns for each object (in a lane). A writer
// leaves the lane during back-off. intent.Pause is called outside the lane: it returns only when all writers have
// called it, and a writer that waits for the lane cannot.
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
