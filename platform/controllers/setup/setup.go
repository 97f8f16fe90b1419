// Package setup has what the wiring of all reconcilers shares: options, the Runtime, the cache,
// adoption and conditions.
package setup

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
)

// Options are common to all reconcilers.
type Options struct {
	// Runtime is that by which all reconcilers of a process write.
	Runtime *coapply.Runtime
	// Replicas decides what happens when someone else, a person with kubectl scale
	// or an autoscaler, owns the replicas of a Devbox's Deployment.
	Replicas apply.Decision
}

// SetContended sets the condition Contended of a parent while the Breaker stops a force of its
// applies, and to False afterwards. A parent that was never contended gets no such condition.
func SetContended(conditions *[]metav1.Condition, generation int64, applied reconciler.Applied) {
	contended := breaker.Condition(generation, applied.Errs)
	if contended.Status == metav1.ConditionTrue || meta.FindStatusCondition(*conditions, contended.Type) != nil {
		meta.SetStatusCondition(conditions, contended)
	}
}

// Enqueue returns a handler that reconciles the parent that an object names, whoever owns the
// object: if somebody else's object goes away, or loses its owner, the name may be free. An
// empty name enqueues nothing.
func Enqueue(parentOf func(client.Object) types.NamespacedName) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		parent := parentOf(object)
		if parent.Name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: parent}}
	})
}

// ResourceRequirements returns the resource requirements of a container, or nil if there are
// none: empty ones would claim the field.
func ResourceRequirements(wanted v1alpha1.Resources) *corev1ac.ResourceRequirementsApplyConfiguration {
	if len(wanted.Requests) == 0 && len(wanted.Limits) == 0 {
		return nil
	}
	resources := corev1ac.ResourceRequirements()
	if len(wanted.Requests) > 0 {
		resources.WithRequests(wanted.Requests)
	}
	if len(wanted.Limits) > 0 {
		resources.WithLimits(wanted.Limits)
	}
	return resources
}

// Ready returns the condition Ready of an object that is ready exactly if another condition is
// True. If it is not ready, the reason and message are those of that condition; otherwise they
// are the given ones.
func Ready(of metav1.Condition, reason, message string) metav1.Condition {
	ready := of
	ready.Type = v1alpha1.ConditionReady
	if of.Status == metav1.ConditionTrue {
		ready.Reason, ready.Message = reason, message
	} else {
		ready.Status = metav1.ConditionFalse
	}
	return ready
}

// PodReady reports whether a pod is ready, has not ended, and is not being deleted. A pod that
// has failed may still have its former Ready condition.
func PodReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !PodFinished(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// PodFinished reports whether a pod has ended for good. Such a pod stays when its ReplicaSet is
// scaled to zero.
func PodFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
