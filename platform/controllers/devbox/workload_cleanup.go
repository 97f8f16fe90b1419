package devbox

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// cleanup deletes the Deployment in the foreground, so that none of its ReplicaSets makes
// another pod, and removes the pods' finalizers. It is done when a live read finds no pod: a
// pod that outlived the Devbox's finalizer would keep its own for ever.
func (w workload) cleanup(ctx context.Context, box *v1alpha1.Devbox) (done bool, err error) {
	var deployment appsv1.Deployment // stays empty if there is none
	err = w.live.Get(ctx, client.ObjectKeyFromObject(box), &deployment)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the Deployment: %w", err)
	}
	kept := map[types.UID]bool{}
	ours := metav1.IsControlledBy(&deployment, box)
	switch {
	case ours && deployment.DeletionTimestamp == nil:
		err = setup.Delete(ctx, w.client, w.live, &deployment, client.PropagationPolicy(metav1.DeletePropagationForeground))
	case !ours: // gone, or someone else's by now
		kept, err = w.deleteReplicaSets(ctx, box, deployment.UID)
	}
	if err != nil {
		return false, err
	}
	pods, err := podsOf(ctx, w.live, client.ObjectKeyFromObject(box))
	if err != nil {
		return false, err
	}
	return w.removePods(ctx, ownPods(box, pods), ours, kept)
}

// removePods removes the pods whose owner is not in kept, and reports whether there were none.
// If replaced is true, as the Deployment is still there and would replace them, it removes only
// pods that are going anyway, and returns false.
func (w workload) removePods(ctx context.Context, pods []*corev1.Pod, replaced bool, kept map[types.UID]bool) (none bool, err error) {
	none = !replaced
	var errs []error
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner != nil && kept[owner.UID] {
			continue
		}
		none = false
		if !replaced || pod.DeletionTimestamp != nil {
			errs = append(errs, w.removePod(ctx, pod))
		}
	}
	return none, errors.Join(errs...)
}

// deleteReplicaSets deletes ReplicaSets of a Deployment that was deleted with its dependents
// orphaned: they would replace every pod. They are deleted at once, and we remove their pods.
// ReplicaSets of a Deployment that somebody has taken from the Devbox are kept and returned,
// with their pods.
func (w workload) deleteReplicaSets(ctx context.Context, box *v1alpha1.Devbox, taken types.UID) (kept map[types.UID]bool, err error) {
	var list appsv1.ReplicaSetList
	err = w.live.List(ctx, &list, client.InNamespace(box.Namespace), client.MatchingLabels{Label: box.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets: %w", err)
	}
	kept = map[types.UID]bool{}
	for i := range list.Items {
		set := &list.Items[i]
		if owner := metav1.GetControllerOf(set); owner != nil && owner.UID == taken {
			kept[set.UID] = true
		}
		if kept[set.UID] || !isOwnSet(box, set) {
			continue
		}
		if err := setup.Delete(ctx, w.client, w.live, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
