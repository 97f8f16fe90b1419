// Package slurmcontroller contains the reconciler of SlurmControllers. For a SlurmController called NAME it applies
// two objects. The StatefulSet NAME runs slurmctld in one pod. The Service NAME-controller is the address of slurmctld
// for clients and for the slurmd pods of a NodeSet. Both objects have an owner reference to the SlurmController and
// are garbage collected with it. Objects of other owners that have these names are never written to.
package slurmcontroller

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// RBAC rules of the reconciler, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Setup adds the reconciler of SlurmControllers to a manager.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	byName := setup.Enqueue(controllerOf)
	return coapply.For(options.Runtime, fieldmanagers.SlurmController, emit).
		Named("slurmcontroller").
		Watches(&appsv1.StatefulSet{}, byName).
		Watches(&corev1.Service{}, byName).
		Belongs(func(_ *v1alpha1.SlurmController, child client.Object) bool { return isControllers(child) }).
		Status(statusReader{mgr.GetClient()}.status).
		Complete()
}

const (
	kind = "SlurmController"
	// Label is a label on every object that belongs to a SlurmController; its value is the SlurmController's name.
	Label = "platform.coapply.dev/slurm-controller"
	// PortName is the name of slurmctld's container, and of its port in the container and the Service.
	PortName = "slurmctld"

	serviceSuffix = "-controller"
)

// ServiceName returns the name of the Service of the SlurmController with the given name.
func ServiceName(controller string) string { return controller + serviceSuffix }

// labels returns the labels of all objects of a SlurmController. The StatefulSet's selector is immutable. It uses only
// the label platform.coapply.dev/slurm-controller, so that a new version of the platform may change the other labels.
func labels(controller *v1alpha1.SlurmController) map[string]string {
	return map[string]string{
		Label:                          controller.Name,
		"app.kubernetes.io/name":       PortName,
		"app.kubernetes.io/managed-by": "coapply",
	}
}

func selector(controller *v1alpha1.SlurmController) map[string]string {
	return map[string]string{Label: controller.Name}
}

// controllerOf returns the key of the SlurmController of an object. A StatefulSet has the name of its SlurmController.
// A Service has this name with the suffix -controller. For a Service without this suffix, the key has an empty name.
func controllerOf(object client.Object) types.NamespacedName {
	name := object.GetName()
	if _, service := object.(*corev1.Service); service {
		var ok bool
		if name, ok = strings.CutSuffix(name, serviceSuffix); !ok {
			name = ""
		}
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: name}
}

// isControllers reports whether an object belongs to the SlurmController that controllerOf returns for the object.
func isControllers(object client.Object) bool {
	return setup.Belongs(object, kind, controllerOf(object).Name, Label)
}

// emit returns the intents of a SlurmController: its Service and its StatefulSet.
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
			WithReplicas(1). // slurmctld has its own state, which two pods would not share
			WithServiceName(ServiceName(controller.Name)).
			// With the default, OrderedReady, the StatefulSet controller waits for a pod to become ready before
			// it replaces the pod. So a pod with a mistyped image would stay after the image was corrected.
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
