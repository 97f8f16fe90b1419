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

// setIndex is the index of pods by the NodeSet in their name.
const setIndex = "nodeset"

const (
	// setsAtOnce is how many NodeSets are reconciled at once, so that small ones do not wait
	// for a large one.
	setsAtOnce = 4
	// shortestWait and longestWait bound the wait after a failure, as no event shows that a
	// quota has grown.
	shortestWait, longestWait = 5 * time.Millisecond, time.Minute
)

// Setup adds the reconciler that owns a NodeSet's pods and status.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	// The label by which a pod belongs to its NodeSet is forced.
	applier, err := options.Runtime.Applier(fieldmanagers.NodeSet, apply.OnConflict(apply.Reject).
		At(".metadata.labels", apply.Force).At(".metadata.ownerReferences", apply.Force))
	if err != nil {
		return fmt.Errorf("nodeset: %w", err)
	}
	updater, err := options.Runtime.Updater(fieldmanagers.NodeSet)
	if err != nil {
		return fmt.Errorf("nodeset: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &corev1.Pod{}, setIndex, setOfPod); err != nil {
		return fmt.Errorf("nodeset: %w", err)
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

// setOfPod returns the NodeSet in a pod's name, whoever owns the pod: it may take the name of a
// NodeSet's pod, or make it free.
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

// requestsOfController returns requests for the NodeSets whose pods get the controller's
// address. If these cannot be listed now, each is reconciled when it changes.
func (n nodeSets) requestsOfController(ctx context.Context, controller client.Object) []reconcile.Request {
	var sets v1alpha1.NodeSetList
	if err := n.client.List(ctx, &sets, client.InNamespace(controller.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing the NodeSets of a SlurmController")
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

// serviceChanged passes updates by which a SlurmController's status names its Service, or no
// longer does.
func serviceChanged() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		if controller, ok := object.(*v1alpha1.SlurmController); ok {
			return controller.Status.ServiceName
		}
		return nil
	})
}

// worthARound passes the changes of a pod on which decide depends.
func worthARound() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			return nil
		}
		return []any{setup.PodReady(pod), setup.PodFinished(pod), pod.DeletionTimestamp != nil, pod.Labels, metav1.GetControllerOf(pod), image(pod)}
	})
}
