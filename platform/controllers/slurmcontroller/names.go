package slurmcontroller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

const (
	kind = "SlurmController"
	// Label is on everything that belongs to a SlurmController; its value is the
	// SlurmController's name.
	Label = "platform.coapply.dev/slurm-controller"
	// PortName is the name of slurmctld's port, in the container and in the Service.
	PortName = "slurmctld"

	serviceSuffix = "-controller"
)

// ServiceName returns the name of a SlurmController's Service.
func ServiceName(controller string) string { return controller + serviceSuffix }

// labels returns the labels of a SlurmController's objects. Selectors use Label alone, as they
// cannot change.
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

// controllerOf returns the SlurmController in an object's name; zero if there is none.
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

// isControllers reports whether an object belongs to the SlurmController in its name.
func isControllers(object client.Object) bool {
	return setup.Belongs(object, kind, controllerOf(object).Name, Label)
}
