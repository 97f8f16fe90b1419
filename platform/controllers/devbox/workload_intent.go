package devbox

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// emitWorkload returns the Deployment without its replicas, once the content reconciler has
// named a content of the image: a new Devbox, and one with a new image, would otherwise get its
// pod replaced a moment later. A Devbox that is not to run does not get a Deployment: the
// workload reconciler does not set the replicas, so the API server would run one pod.
func emitWorkload(box *v1alpha1.Devbox) ([]apply.Intent, error) {
	if !contentFits(box) {
		return nil, nil
	}
	deployment := appsv1ac.Deployment(box.Name, box.Namespace).
		WithLabels(labels(box)).
		WithOwnerReferences(setup.OwnedBy(kind, box)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(box))).
			// Two pods of one devbox would write to one content.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithTemplate(podTemplate(box)))
	return []apply.Intent{{Config: deployment, MustExist: !isToRun(box)}}, nil
}

func podTemplate(box *v1alpha1.Devbox) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().
		WithLabels(labels(box)).
		WithAnnotations(map[string]string{ContentAnnotation: box.Status.ContentID}).
		WithFinalizers(PodFinalizer).
		WithSpec(corev1ac.PodSpec().
			WithAutomountServiceAccountToken(false).
			WithContainers(container(box)))
}

func container(box *v1alpha1.Devbox) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(ContainerName).
		WithImage(box.Spec.Image).
		WithPorts(corev1ac.ContainerPort().
			WithContainerPort(box.Spec.Network.Port).
			WithProtocol(corev1.ProtocolTCP)).
		WithResources(setup.ResourceRequirements(box.Spec.Resources))
}
