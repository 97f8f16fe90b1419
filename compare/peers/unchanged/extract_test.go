package unchanged

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// extract sends nothing if what the manager owns of the cached object is what it wants.
func extract(p Process) (Reconcile, error) {
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		live := &appsv1.Deployment{}
		err := p.Client.Get(ctx, types.NamespacedName{Namespace: *wanted.Namespace, Name: *wanted.Name}, live)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if !apierrors.IsNotFound(err) {
			same, err := Extracted(live, p.Manager, wanted)
			if same || err != nil {
				return err
			}
		}
		return p.Client.Apply(ctx, wanted, client.FieldOwner(p.Manager))
	}, nil
}

// Extracted says whether a manager owns what it wants, no more and no less, with the values that it wants.
func Extracted(live *appsv1.Deployment, manager string, wanted *appsv1ac.DeploymentApplyConfiguration) (bool, error) {
	owned, err := appsv1ac.ExtractDeployment(live, manager)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(owned, wanted), nil
}
