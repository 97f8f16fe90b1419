// Package shop is an example controller in two versions: without coapply (folder before) and with
// coapply (folder after). For each ConfigMap with the label example.com/shop, it applies a
// Deployment that runs the shop's image. docs/adopting.md shows the lines that differ.
package shop

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
)

// Run starts a manager with the controller, and returns when the context ends.
func Run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	rt, err := coapply.New(mgr)
	if err != nil {
		return err
	}
	c := rt.Client("shop-web", apply.OnConflict(apply.Reject))
	isShop := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetLabels()["example.com/shop"] != "" })
	err = ctrl.NewControllerManagedBy(mgr).
		Named("shop").
		For(&corev1.ConfigMap{}, builder.WithPredicates(isShop)).
		Owns(&appsv1.Deployment{}).
		Complete(&shops{c})
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

type shops struct{ client.Client }

// Reconcile applies the Deployment of a shop. The request names the ConfigMap that describes the shop.
func (s *shops) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var shop corev1.ConfigMap
	if err := s.Get(ctx, request.NamespacedName, &shop); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, s.Apply(ctx, deployment(&shop))
}

func deployment(shop *corev1.ConfigMap) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"example.com/shop": shop.Name}
	return appsv1ac.Deployment(shop.Name, shop.Namespace).
		WithLabels(labels).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion("v1").WithKind("ConfigMap").WithName(shop.Name).WithUID(shop.UID).WithController(true)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(
					corev1ac.Container().WithName("web").WithImage(shop.Data["image"])))))
}
