package micro

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/compare/peers/deployment"
	"coapply.dev/compare/peers/world"
	"coapply.dev/compare/target"
)

const throughFrontDoor = "through coapply.For, with a status"

// startManager starts a manager as a user has one, whose requests are counted, and returns when its cache has synced.
func startManager(ctx context.Context, t *target.Target) (mgr manager.Manager, counter *world.Counter, stop func(), err error) {
	config, counter := world.Counted(t.Admin())
	mgr, err = ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return nil, nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mgr.Start(running) // what is wrong, who waits for the sync finds out
	}()
	stop = func() {
		cancel()
		<-ended
	}
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		stop()
		return nil, nil, nil, errors.New("the manager's cache does not sync")
	}
	return mgr, counter, stop, nil
}

// frontDoor is what a user of coapply.For runs: a reconciler of an Ingress, which emits the Deployment and writes the
// Ingress's status.
func (s *setup) frontDoor(ctx context.Context, mgr manager.Manager, counter *world.Counter) (one, error) {
	rt, err := coapply.New(mgr)
	if err != nil {
		return one{}, err
	}
	r, err := coapply.For(rt, deployment.Workload, emitForIngress).Owns(&appsv1.Deployment{}).Status(statusOfIngress).Reconciler()
	if err != nil {
		return one{}, err
	}
	key := types.NamespacedName{Namespace: s.world.Namespace, Name: "front-door"}
	once := func(ctx context.Context) error {
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		return err
	}
	parent := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: key.Name, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
	if err := s.settled(ctx, parent, once, counter.Take); err != nil {
		return one{}, fmt.Errorf("%s: %w", throughFrontDoor, err)
	}
	return silently(throughFrontDoor, once, counter), nil
}

func emitForIngress(parent *networkingv1.Ingress) ([]apply.Intent, error) {
	owner := coapply.OwnedBy(parent, networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	config := deployment.Intent(parent.Namespace, parent.Name, 0, deployment.Start).WithOwnerReferences(owner)
	return []apply.Intent{{Config: config}}, nil
}

// statusOfIngress says where the Ingress is reached once its Deployment is as it should be.
func statusOfIngress(_ context.Context, _ *networkingv1.Ingress, applied reconciler.Applied) (reconciler.Report[*networkingv1.Ingress], error) {
	if len(applied.Errs) > 0 {
		return reconciler.Report[*networkingv1.Ingress]{}, nil
	}
	return reconciler.Report[*networkingv1.Ingress]{Change: func(parent *networkingv1.Ingress) error {
		parent.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: parent.Name + ".example.com"}}
		return nil
	}}, nil
}

// silently is a reconcile that must not send anything.
func silently(name string, once func(context.Context) error, counter *world.Counter) one {
	return one{name, func(ctx context.Context, _ int) error {
		err := once(ctx)
		if sent := counter.Take(); err == nil && len(sent) > 0 {
			err = fmt.Errorf("it sent %v", sent)
		}
		return err
	}}
}
