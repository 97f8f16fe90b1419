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

// Finalizer keeps a Website until its Deployment is gone.
const Finalizer = "example.com/website"

// server looks after a Website's Deployment.
type server struct {
	client client.Client // reads from the cache
	live   client.Reader // and past it
}

// cleanup is done when nothing serves the page any more. The ConfigMap is left to
// the garbage collector.
func (s server) cleanup(ctx context.Context, site *Website) (done bool, err error) {
	var deployment appsv1.Deployment
	err = s.live.Get(ctx, client.ObjectKey{Namespace: site.Namespace, Name: childName(site.Name)}, &deployment)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, err
	case !metav1.IsControlledBy(&deployment, site):
		return true, nil // another one's
	case deployment.DeletionTimestamp != nil:
		return false, nil // its end is watched, and leads here again
	}
	err = s.client.Delete(ctx, &deployment, client.Preconditions{UID: &deployment.UID},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	return false, client.IgnoreNotFound(err)
}

// status reads first. The change that it returns sets single fields, and may run again.
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
