package devbox

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
)

// cleanup deletes the Deployment in the foreground, so that no ReplicaSet of it
// makes another pod, and lets go of the pods. It is done when a live read finds
// none of them: a pod that outlived our finalizer would keep its own for ever.
func (w workload) cleanup(ctx context.Context, box *v1alpha1.Devbox) (done bool, err error) {
	deploymentGone, err := w.deleteDeployment(ctx, box)
	if err != nil {
		return false, err
	}
	if deploymentGone {
		if err := w.deleteReplicaSets(ctx, box); err != nil {
			return false, err
		}
	}
	pods, err := podsOf(ctx, w.live, client.ObjectKeyFromObject(box))
	if err != nil {
		return false, err
	}
	var errs []error
	for _, pod := range pods {
		// While the Deployment is there, a pod removed by us would be replaced.
		if deploymentGone || pod.DeletionTimestamp != nil {
			errs = append(errs, w.removePod(ctx, pod))
		}
	}
	return deploymentGone && len(pods) == 0, errors.Join(errs...)
}

func (w workload) deleteDeployment(ctx context.Context, box *v1alpha1.Devbox) (gone bool, err error) {
	var deployment appsv1.Deployment
	err = w.live.Get(ctx, client.ObjectKeyFromObject(box), &deployment)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the Deployment: %w", err)
	case !belongsTo(&deployment, box):
		return true, nil // someone else's; ours is gone
	case deployment.DeletionTimestamp != nil:
		return false, nil
	}
	err = w.client.Delete(ctx, &deployment, client.Preconditions{UID: &deployment.UID},
		client.PropagationPolicy(metav1.DeletePropagationForeground))
	if err := ignoreOther(err); err != nil {
		return false, fmt.Errorf("deleting the Deployment: %w", err)
	}
	return false, nil
}

// deleteReplicaSets deletes those that a Deployment left behind, deleted with its
// dependents orphaned: they would replace every pod that goes. They go at once, and
// their pods are removed by us.
func (w workload) deleteReplicaSets(ctx context.Context, box *v1alpha1.Devbox) error {
	var list appsv1.ReplicaSetList
	err := w.live.List(ctx, &list, client.InNamespace(box.Namespace), client.MatchingLabels{Label: box.Name})
	if err != nil {
		return fmt.Errorf("listing the ReplicaSets: %w", err)
	}
	for i := range list.Items {
		set := &list.Items[i]
		err := w.client.Delete(ctx, set, client.Preconditions{UID: &set.UID},
			client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err := ignoreOther(err); err != nil {
			return fmt.Errorf("deleting ReplicaSet %s: %w", set.Name, err)
		}
	}
	return nil
}
