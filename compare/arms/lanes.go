package arms

import (
	"context"

	"k8s.io/client-go/util/retry"

	"coapply.dev/apply/lanes"
	"coapply.dev/compare"
)

// gmuLanes is like gmuDefaultRetry, but a lane for each object serialises the writers of the process. A writer leaves
// the lane during back-off. It calls intent.Pause before it enters the lane. A call inside the lane would deadlock:
// Pause waits for all writers, and the other writers may be waiting for the lane.
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
