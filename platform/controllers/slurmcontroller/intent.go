package slurmcontroller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// emit returns the intents of the Service, which governs the StatefulSet, and of the
// StatefulSet.
func emit(controller *v1alpha1.SlurmController) ([]apply.Intent, error) {
	return []apply.Intent{
		{Config: service(controller)},
		{Config: statefulSet(controller)},
	}, nil
}

func service(controller *v1alpha1.SlurmController) *corev1ac.ServiceApplyConfiguration {
	return corev1ac.Service(ServiceName(controller.Name), controller.Namespace).
		WithLabels(labels(controller)).
		WithOwnerReferences(setup.OwnedBy(kind, controller)).
		WithSpec(corev1ac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(selector(controller)).
			WithPorts(corev1ac.ServicePort().
				WithName(PortName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(controller.Spec.Port).
				WithTargetPort(intstr.FromInt32(controller.Spec.Port))))
}

func statefulSet(controller *v1alpha1.SlurmController) *appsv1ac.StatefulSetApplyConfiguration {
	return appsv1ac.StatefulSet(controller.Name, controller.Namespace).
		WithLabels(labels(controller)).
		WithOwnerReferences(setup.OwnedBy(kind, controller)).
		WithSpec(appsv1ac.StatefulSetSpec().
			WithReplicas(1). // slurmctld has state of its own: two would contradict each other
			WithServiceName(ServiceName(controller.Name)).
			// OrderedReady never replaces a pod that does not become ready, so a mistyped image
			// would stay after it was corrected.
			WithPodManagementPolicy(appsv1.ParallelPodManagement).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(controller))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels(controller)).
				WithSpec(corev1ac.PodSpec().
					WithAutomountServiceAccountToken(false).
					WithContainers(container(controller)))))
}

func container(controller *v1alpha1.SlurmController) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(PortName).
		WithImage(controller.Spec.Image).
		WithPorts(corev1ac.ContainerPort().
			WithName(PortName).
			WithContainerPort(controller.Spec.Port).
			WithProtocol(corev1.ProtocolTCP)).
		WithResources(setup.ResourceRequirements(controller.Spec.Resources))
}
