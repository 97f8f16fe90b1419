package devbox

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
)

// readyOf returns the condition Ready of a Devbox. Ready is True if the conditions of the workload, power and network
// reconcilers are True for the given generation, and the pod is in the desired state. If spec.state is Running, the pod
// must be ready. Otherwise all pods must have ended. The argument deployment is nil if the Deployment does not exist.
func readyOf(generation int64, box *v1alpha1.Devbox, deployment *appsv1.Deployment) metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: generation}
	for _, conditionType := range []string{v1alpha1.ConditionWorkloadApplied, v1alpha1.ConditionPowerApplied, v1alpha1.ConditionNetworkApplied} {
		applied := meta.FindStatusCondition(box.Status.Conditions, conditionType)
		switch {
		case applied == nil || applied.ObservedGeneration < generation:
			ready.Reason, ready.Message = "Applying", "waiting for the condition "+conditionType+" to be set for the current spec"
			return ready
		case applied.Status != metav1.ConditionTrue:
			ready.Reason, ready.Message = applied.Reason, fmt.Sprintf("%s is %s: %s", conditionType, applied.Status, applied.Message)
			return ready
		}
	}
	if !isToRun(box) {
		return atRest(ready, box.Status.Phase)
	}
	if deployment == nil {
		ready.Reason, ready.Message = "PodNotReady", "the Deployment does not exist"
		return ready
	}
	before := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady)
	wasReady := before != nil && before.Status == metav1.ConditionTrue && before.ObservedGeneration == generation
	return rolledOut(ready, box.Status.Phase, deployment, wasReady)
}

// said returns the condition of the given type as a comparable value. The value does not contain the lastTransitionTime.
func said(box *v1alpha1.Devbox, conditionType string) [4]string {
	condition := meta.FindStatusCondition(box.Status.Conditions, conditionType)
	if condition == nil {
		return [4]string{}
	}
	return [4]string{string(condition.Status), condition.Reason, condition.Message, fmt.Sprint(condition.ObservedGeneration)}
}

func atRest(ready metav1.Condition, phase v1alpha1.DevboxPhase) metav1.Condition {
	ready.Reason, ready.Message = string(phase), "no pod should run, but a pod of the Devbox has not ended yet"
	if phase == v1alpha1.PhaseStopped || phase == v1alpha1.PhaseShutdown {
		ready.Status, ready.Message = metav1.ConditionTrue, "there is no pod, and spec.state is not Running"
	}
	return ready
}

// rolledOut returns the condition Ready of a Devbox that should run. If the Deployment cannot create its pod, for
// example because of a quota, Ready has the reason and message of the Deployment's condition. Ready becomes True only
// once the Deployment controller has observed the newest generation of the Deployment. If Ready was already True
// (wasReady), it stays True meanwhile, because some new generations do not replace the pod.
func rolledOut(ready metav1.Condition, phase v1alpha1.DevboxPhase, deployment *appsv1.Deployment, wasReady bool) metav1.Condition {
	status := deployment.Status
	for _, condition := range status.Conditions {
		fails := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		late := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if fails || late {
			ready.Reason, ready.Message = condition.Reason, condition.Message
			return ready
		}
	}
	ready.Reason, ready.Message = "PodNotReady", "the pod is missing, is not ready, or belongs to an earlier spec"
	looked := status.ObservedGeneration >= deployment.Generation
	if phase == v1alpha1.PhaseRunning && (looked || wasReady) && status.UpdatedReplicas > 0 && status.AvailableReplicas > 0 {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, "PodReady", "the pod is ready"
	}
	return ready
}
