package arms

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare"
)

// Names of arms that only `compare bench` has.
const (
	LanesOnly    = "lanes"
	RetryForever = "gmu-forever"
)

// Widths are the fixed lane widths that `compare bench` compares: the maximum numbers of concurrent writes to an object.
var Widths = []int{1, 2, 3, 4, 8}

// OfWidth returns the name of the arm with lanes of a fixed width.
func OfWidth(width int) string { return fmt.Sprintf("%s-%d", LanesOnly, width) }

// ForBench returns the arms that only `compare bench` has.
func ForBench() []compare.Arm {
	all := []compare.Arm{
		{
			Name: LanesOnly, Summary: "coapply's Applier with lanes, without the steady-state check",
			New: made(func(s compare.Session) writer { return inLanes(s, lanes.New()) }),
		},
		{
			Name: RetryForever, Summary: "get-modify-update in client-go's RetryOnConflict that retries forever, with the delays of DefaultRetry",
			New: made(gmuForever),
		},
	}
	for _, width := range Widths {
		all = append(all, compare.Arm{
			Name: OfWidth(width), Summary: fmt.Sprintf("like %s, with a fixed width: at most %d concurrent writes per object", LanesOnly, width),
			New: made(func(s compare.Session) writer { return inLanes(s, lanes.OfWidth(width)) }),
		})
	}
	return all
}

// inLanes returns a writer that uses coapply's Applier without the steady-state check. There is one Applier for each
// field manager. All Appliers use the given lanes.
func inLanes(s compare.Session, shared *lanes.Set) writer {
	byManager := appliers{lanes: shared}
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		a, err := byManager.of(intent.Manager, s)
		if err != nil {
			return compare.Receipt{}, err
		}
		config, err := configure(ctx, s.Client(intent.Manager), intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		outcome, err := a.Apply(ctx, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(config)})
		if err != nil {
			return compare.Receipt{}, err
		}
		return compare.Receipt{ResourceVersion: outcome.Object.ResourceVersion}, nil
	}
}

// gmuForever is gmuDefaultRetry without a limit on the number of attempts.
func gmuForever(s compare.Session) writer {
	forever := wait.Backoff{Steps: math.MaxInt, Duration: 10 * time.Millisecond, Factor: 1.0, Jitter: 0.1}
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		err = retry.RetryOnConflict(forever, func() error {
			receipt, err = getModifyUpdate(ctx, s, intent)
			return err
		})
		return receipt, err
	}
}
