package peer

import (
	"context"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// plain sends the intent, whatever stands.
func plain(p Process) (Reconcile, error) {
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		return p.Client.Apply(ctx, wanted, client.FieldOwner(p.Manager))
	}, nil
}

func forced(p Process) (Reconcile, error) {
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		return p.Client.Apply(ctx, wanted, client.FieldOwner(p.Manager), client.ForceOwnership)
	}, nil
}
