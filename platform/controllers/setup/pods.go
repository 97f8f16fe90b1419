package setup

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

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
