package website

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
)

// Finalizer is the finalizer of a Website. It is removed once the Website's Deployment no longer exists.
const Finalizer = "example.com/website"

// server reads and deletes a Website's Deployment, for the status and the finalizer.
type server struct {
	client client.Client // reads from the cache
	live   client.Reader // reads from the API server
}

// cleanup deletes the Deployment before the Website is deleted. done is true once the Deployment no
// longer exists. The garbage collector deletes the ConfigMap.
func (s server) cleanup(ctx context.Context, site *Website) (done bool, err error) {
	var deployment appsv1.Deployment
	err = s.live.Get(ctx, client.ObjectKey{Namespace: site.Namespace, Name: childName(site.Name)}, &deployment)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case !metav1.IsControlledBy(&deployment, site):
		return true, nil // the Deployment has another owner
	case deployment.DeletionTimestamp != nil:
		return false, nil // the event of the completed deletion calls cleanup again
	}
	err = s.client.Delete(ctx, &deployment, client.Preconditions{UID: &deployment.UID},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	return false, client.IgnoreNotFound(err)
}

// status reads the Deployment and returns a function that changes the Website's status. The function may be called
// again for a newer Website, so it sets single fields and does not replace the whole status.
func (s server) status(ctx context.Context, site *Website, applied reconciler.Applied) (reconciler.Report[*Website], error) {
	var deployment appsv1.Deployment
	err := s.client.Get(ctx, client.ObjectKey{Namespace: site.Namespace, Name: childName(site.Name)}, &deployment)
	if client.IgnoreNotFound(err) != nil {
		return reconciler.Report[*Website]{}, err
	}
	condition := reconciler.Condition("Applied", site.Generation, applied)
	return reconciler.Report[*Website]{Change: func(site *Website) error {
		site.Status.Ready = deployment.Status.ReadyReplicas
		meta.SetStatusCondition(&site.Status.Conditions, condition)
		return nil
	}}, nil
}
