package peer

import (
	"context"

	"github.com/fluxcd/pkg/ssa"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/compare/peers/deployment"
)

// flux reads live, as Flux' controllers do.
func flux(p Process) (Reconcile, error) {
	manager := ssa.NewResourceManager(p.Live, nil, ssa.Owner{Field: p.Manager, Group: "peers.coapply.dev"})
	options := ssa.DefaultApplyOptions()
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		object, err := deployment.Unstructured(wanted)
		if err != nil {
			return err
		}
		_, err = manager.Apply(ctx, object, options)
		return err
	}, nil
}
