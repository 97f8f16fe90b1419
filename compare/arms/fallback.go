package arms

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
	"coapply.dev/compare"
)

// fallback returns a writer that uses coapply's Updater. There is one Updater for each field manager. All Updaters
// share the lanes. The writer calls intent.Pause before it enters the lane. A call inside the lane would deadlock:
// Pause waits for all writers, and the other writers may be waiting for the lane.
func fallback(s compare.Session) writer {
	var byManager perManager[*update.Updater]
	shared := lanes.New()
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		if intent.Creates {
			return compare.Receipt{}, errors.New("this workload creates objects, which the arm \"update\" cannot do: use another arm")
		}
		u, err := byManager.of(intent.Manager, func() (*update.Updater, error) {
			c := s.Client(intent.Manager)
			return update.New(update.Config{FieldManager: intent.Manager, Client: c, LiveReader: c, Lanes: shared})
		})
		if err != nil {
			return compare.Receipt{}, err
		}
		if err := intent.Pause(ctx); err != nil {
			return compare.Receipt{}, err
		}
		do := update.Do[*unstructured.Unstructured]
		if intent.Subresource == "status" {
			do = update.Status[*unstructured.Unstructured]
		}
		result, err := do(ctx, u, named(intent), intent.Modify)
		if err != nil {
			return compare.Receipt{}, err
		}
		return compare.Receipt{ResourceVersion: result.Object.GetResourceVersion(), Skipped: !result.Changed}, nil
	}
}
