// Package setup holds code that the platform's reconcilers share: options, cache options, checks
// of which objects belong to which parent, deletion, and conditions.
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

// Options are the options that all reconcilers of the platform get.
type Options struct {
	// Runtime holds the coapply state that all reconcilers of a process share.
	Runtime *coapply.Runtime
	// Replicas is the decision for a conflict over the replicas of a Devbox's Deployment, when
	// kubectl scale, an autoscaler or another field manager owns them.
	Replicas apply.Decision
}

// SetContended sets the condition Contended of a parent: True while the circuit breaker for forced applies
// stops one of the parent's applies, and False afterwards. A parent that was never contended gets no condition.
func SetContended(conditions *[]metav1.Condition, generation int64, applied reconciler.Applied) {
	contended := breaker.Condition(generation, applied.Errs)
	if contended.Status == metav1.ConditionTrue || meta.FindStatusCondition(*conditions, contended.Type) != nil {
		meta.SetStatusCondition(conditions, contended)
	}
}

// Enqueue returns an event handler that enqueues parentOf(object) for each event of an object,
// whoever owns the object: if an object of another owner is deleted or loses its owner, its name
// may be free. If parentOf returns an empty name, nothing is enqueued.
func Enqueue(parentOf func(client.Object) types.NamespacedName) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		parent := parentOf(object)
		if parent.Name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: parent}}
	})
}

// ResourceRequirements returns the resource requirements of a container for an apply configuration.
// It returns nil if there are none, because the field manager would own even an empty value.
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

// Ready derives the condition Ready from another condition. If the other condition is True, Ready is True with
// the given reason and message. Otherwise Ready is False, with the reason and message of the other condition.
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

// PodReady reports whether a pod is ready, has not finished, and is not being deleted. The phase is
// checked too, because a failed pod may still have its former Ready condition.
func PodReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && !PodFinished(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// PodFinished reports whether a pod has the phase Succeeded or Failed. A finished pod is not deleted
// when its ReplicaSet is scaled to zero.
func PodFinished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
