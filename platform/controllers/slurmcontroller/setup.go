package slurmcontroller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// Setup adds the reconciler that owns a SlurmController's StatefulSet, Service and
// status.
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
