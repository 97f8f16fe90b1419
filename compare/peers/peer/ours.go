package peer

import (
	"context"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
)

// ours is one applier of a process; the lanes and the steady-state check would be shared with the process's others.
func ours(p Process) (Reconcile, error) {
	steady, err := apply.NewSteadyState(p.Cache, p.Schemas)
	if err != nil {
		return nil, err
	}
	applier, err := apply.New(p.Client, apply.Config{
		FieldManager: p.Manager, LiveReader: p.Live, Lanes: lanes.New(), Steady: steady,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		_, err := applier.Apply(ctx, apply.Intent{Config: wanted})
		return err
	}, nil
}
