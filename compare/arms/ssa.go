package arms

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare"

	"k8s.io/apimachinery/pkg/types"
)

// ssa applies the intent once. An ownership conflict is an error and is not retried.
func ssa(s compare.Session) writer { return ssaWith(s, nil) }

// ssaForce is like ssa, but takes the fields that other managers own.
func ssaForce(s compare.Session) writer { return ssaWith(s, new(true)) }

func ssaWith(s compare.Session, force *bool) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		config, err := configure(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		return serverSideApply(ctx, c, intent, config, client.ApplyOptions{FieldManager: intent.Manager, Force: force})
	}
}

// ssaLanes is like ssa, but a lane for each object serialises the writers of the process. A writer calls intent.Pause
// before it enters the lane. A call inside the lane would deadlock: Pause waits for all writers, and the other
// writers may be waiting for the lane.
func ssaLanes(s compare.Session) writer {
	turns, inside := lanes.OfWidth(1), ssa(s)
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		if err := intent.Pause(ctx); err != nil {
			return compare.Receipt{}, err
		}
		ctx, leave, err := turns.Enter(ctx, objectOf(intent).Key())
		if err != nil {
			return compare.Receipt{}, unsent(err)
		}
		defer leave()
		return inside(ctx, intent)
	}
}

func objectOf(intent compare.Intent) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: intent.Kind, NamespacedName: types.NamespacedName{Namespace: intent.Namespace, Name: intent.Name},
	}
}
