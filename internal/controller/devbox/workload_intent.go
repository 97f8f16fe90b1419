package devbox

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// emitWorkload wants the Deployment, but for its replicas.
func emitWorkload(box *v1alpha1.Devbox) (reconciler.Emission, error) {
	deployment := appsv1ac.Deployment(box.Name, box.Namespace).
		WithLabels(labels(box)).
		WithOwnerReferences(ownedBy(box)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(box))).
			// Two pods of one devbox would write to one content.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithTemplate(podTemplate(box)))
	return reconciler.Emission{Intents: []apply.Intent{{Config: deployment}}}, nil
}

func podTemplate(box *v1alpha1.Devbox) *corev1ac.PodTemplateSpecApplyConfiguration {
	template := corev1ac.PodTemplateSpec().
		WithLabels(labels(box)).
		WithFinalizers(PodFinalizer).
		WithSpec(corev1ac.PodSpec().
			WithAutomountServiceAccountToken(false).
			WithContainers(container(box)))
	if box.Status.ContentID != "" {
		template.WithAnnotations(map[string]string{ContentAnnotation: box.Status.ContentID})
	}
	return template
}

func container(box *v1alpha1.Devbox) *corev1ac.ContainerApplyConfiguration {
	c := corev1ac.Container().
		WithName(ContainerName).
		WithImage(box.Spec.Image).
		WithPorts(corev1ac.ContainerPort().
			WithContainerPort(box.Spec.Network.Port).
			WithProtocol(corev1.ProtocolTCP))
	wanted := box.Spec.Resources
	if len(wanted.Requests) == 0 && len(wanted.Limits) == 0 {
		return c
	}
	resources := corev1ac.ResourceRequirements()
	if len(wanted.Requests) > 0 {
		resources.WithRequests(wanted.Requests)
	}
	if len(wanted.Limits) > 0 {
		resources.WithLimits(wanted.Limits)
	}
	return c.WithResources(resources)
}
