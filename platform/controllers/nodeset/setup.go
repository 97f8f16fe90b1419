package nodeset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// setIndex is the name of a cache index that finds the pods called NAME-NUMBER, given the name of a NodeSet.
const setIndex = "nodeset"

const (
	// setsAtOnce is the maximum number of NodeSets that are reconciled concurrently. If it were 1, small NodeSets
	// would have to wait for a large NodeSet.
	setsAtOnce = 4
	// shortestWait and longestWait are the limits of the back-off after an error. The longest wait is short, because
	// raising a quota causes no event that would start a reconcile.
	shortestWait, longestWait = 5 * time.Millisecond, time.Minute
)

// Setup adds the reconciler of NodeSets to a manager.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	// Labels and owner references make a pod part of its NodeSet, so they are taken from other field managers by force.
	applier, err := options.Runtime.Applier(fieldmanagers.NodeSet, apply.OnConflict(apply.Reject).
		At(".metadata.labels", apply.Force).At(".metadata.ownerReferences", apply.Force))
	if err != nil {
		return fmt.Errorf("reconciler nodeset: %w", err)
	}
	updater, err := options.Runtime.Updater(fieldmanagers.NodeSet)
	if err != nil {
		return fmt.Errorf("reconciler nodeset: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, setIndex, setOfPod); err != nil {
		return fmt.Errorf("reconciler nodeset: %w", err)
	}
	n := nodeSets{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), applier: applier, updater: updater,
		events: mgr.GetEventRecorder(fieldmanagers.NodeSet),
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("nodeset").
		For(&v1alpha1.NodeSet{}, builder.WithPredicates(coapply.Relevant[*v1alpha1.NodeSet](fieldmanagers.NodeSet))).
		Watches(&corev1.Pod{}, setup.Enqueue(setNamed), builder.WithPredicates(worthARound())).
		Watches(&v1alpha1.SlurmController{}, handler.EnqueueRequestsFromMapFunc(n.requestsOfController),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, serviceChanged()))).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: setsAtOnce,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortestWait, longestWait),
		}).
		Complete(n)
}

// setOfPod returns the index key of a pod: the name of the NodeSet in the pod's name NAME-NUMBER. The index includes
// pods of other owners, because such a pod may have a name that a NodeSet needs.
func setOfPod(pod client.Object) []string {
	if set, _, ok := parsePodName(pod.GetName()); ok {
		return []string{set}
	}
	return nil
}

func setNamed(pod client.Object) types.NamespacedName {
	set, _, ok := parsePodName(pod.GetName())
	if !ok {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: pod.GetNamespace(), Name: set}
}

// requestsOfController returns reconcile requests for the NodeSets that use this SlurmController. If
// the NodeSets cannot be listed, it returns none. Each NodeSet is then reconciled at its next event.
func (n nodeSets) requestsOfController(ctx context.Context, controller client.Object) []reconcile.Request {
	var sets v1alpha1.NodeSetList
	if err := n.client.List(ctx, &sets, client.InNamespace(controller.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the NodeSets of a SlurmController failed; each NodeSet is reconciled at its next event")
		return nil
	}
	var requests []reconcile.Request
	for i := range sets.Items {
		if sets.Items[i].Spec.ControllerName == controller.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&sets.Items[i])})
		}
	}
	return requests
}

// serviceChanged returns a predicate for SlurmControllers. It drops updates that do not change status.serviceName.
func serviceChanged() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		if controller, ok := object.(*v1alpha1.SlurmController); ok {
			return controller.Status.ServiceName
		}
		return nil
	})
}

// worthARound returns a predicate for pods. It drops updates that change none of the properties that decide uses.
func worthARound() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil
		}
		return []any{setup.PodReady(pod), setup.PodFinished(pod), pod.DeletionTimestamp != nil, pod.Labels, metav1.GetControllerOf(pod), image(pod)}
	})
}
