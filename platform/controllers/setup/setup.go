// Package setup contains code that the reconcilers of the platform share: options, conditions, deletion and ownership checks.
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

// Options are the options of all reconcilers of the platform.
type Options struct {
	// Runtime is the Runtime of coapply that all reconcilers of a process use.
	Runtime *coapply.Runtime
	// Replicas decides conflicts over the replicas of a Devbox's Deployment, for example with kubectl scale or an autoscaler.
	Replicas apply.Decision
}

// SetContended sets the condition Contended of a parent. It is True if the circuit breaker for forced applies stopped an apply of this
// reconcile, and False if none was stopped. A parent that was never contended does not get the condition.
func SetContended(conditions *[]metav1.Condition, generation int64, applied reconciler.Applied) {
	contended := breaker.Condition(generation, applied.Errs)
	if contended.Status == metav1.ConditionTrue || meta.FindStatusCondition(*conditions, contended.Type) != nil {
		meta.SetStatusCondition(conditions, contended)
	}
}

// Enqueue returns an event handler that requests a reconcile of parentOf(object) for each event of an object. If
// parentOf returns an empty name, no reconcile is requested. The handler does not check the owner of the object: the
// parent may be waiting until an object of another owner is deleted or loses its owner, so that its name is free.
func Enqueue(parentOf func(client.Object) types.NamespacedName) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		parent := parentOf(object)
		if parent.Name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: parent}}
	})
}

// ResourceRequirements returns resource requirements as an apply configuration of a container. It returns
// nil if there are none, because an apply of an empty value would make the field manager own the container's resources.
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

// Ready returns the condition Ready, derived from the given condition. If the given condition is True, Ready is True
// with the given reason and message. Otherwise Ready is False, with the reason and message of the given condition.
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

// PodReady reports whether a pod is ready, has not finished, and is not being deleted. The condition Ready alone is
// not enough, because it may still be True for a failed pod.
func PodReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !PodFinished(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// PodFinished reports whether a pod has the phase Succeeded or Failed. Scaling a ReplicaSet to zero does not delete such pods.
func PodFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
