package peers

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare/workloads/deployment"
)

// setUp adds reconcilers of coapply.For. The function emit is the only one that a user writes.
func (m *manager) setUp(mgr ctrl.Manager) error {
	rt, err := coapply.New(mgr)
	if err != nil {
		return err
	}
	for j := range deployment.Managers {
		emit := func(object *appsv1.Deployment) ([]apply.Intent, error) {
			if object.Namespace != m.Namespace {
				return nil, nil
			}
			m.reconciles.Add(1)
			return []apply.Intent{{Config: deployment.Intent(object.Namespace, object.Name, j, deployment.Start), MustExist: true}}, nil
		}
		if err := coapply.For(rt, deployment.Manager(j), emit).Named(deployment.Manager(j)).Complete(); err != nil {
			return err
		}
	}
	return nil
}

// setUpByHand adds reconcilers that get their object after every change. They share lanes and the steady-state check.
func (m *manager) setUpByHand(mgr ctrl.Manager) error {
	server, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	steady, err := apply.NewSteadyState(mgr.GetClient(), server.OpenAPIV3())
	if err != nil {
		return err
	}
	lanes := lanes.New()
	seeded := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetNamespace() == m.Namespace })
	for j := range deployment.Managers {
		applier, err := apply.New(mgr.GetClient(), apply.Config{
			FieldManager: deployment.Manager(j), LiveReader: mgr.GetAPIReader(), Lanes: lanes, Steady: steady,
		})
		if err != nil {
			return err
		}
		reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			object := &appsv1.Deployment{}
			if err := mgr.GetClient().Get(ctx, request.NamespacedName, object); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			config := deployment.Intent(request.Namespace, request.Name, j, deployment.Start)
			_, err := applier.Apply(ctx, apply.Intent{Config: config, MustExist: true, Read: object})
			m.reconciles.Add(1)
			return reconcile.Result{}, err
		})
		if err := ctrl.NewControllerManagedBy(mgr).Named(deployment.Manager(j)).For(&appsv1.Deployment{}).WithEventFilter(seeded).Complete(reconciler); err != nil {
			return err
		}
	}
	return nil
}
