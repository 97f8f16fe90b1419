package slurmcontroller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/fieldmanagers"
	"coapply.dev/internal/controller/setup"
)

// Setup adds the reconciler that owns a SlurmController's StatefulSet, Service and
// status.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	byName := handler.EnqueueRequestsFromMapFunc(named)
	return coapply.For(options.Runtime, fieldmanagers.SlurmController, emit).
		Named("slurmcontroller").
		Watches(&appsv1.StatefulSet{}, byName).
		Watches(&corev1.Service{}, byName).
		Belongs(func(_ *v1alpha1.SlurmController, child client.Object) bool { return isControllers(child) }).
		Status(statusReader{mgr.GetClient()}.status).
		Complete()
}

// named goes by the name and not by the owner, so that a foreign object that goes
// away, or loses its owner, makes room at once.
func named(_ context.Context, object client.Object) []reconcile.Request {
	name, ok := controllerOf(object)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}
