package unchanged

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/compare/target"
	"coapply.dev/compare/workloads/deployment"
)

// newManager returns a manager as a user has one, whose requests are counted.
func newManager(b *testing.B, t *target.Target) (manager.Manager, *Counter) {
	b.Helper()
	config, counter := Counted(t.Admin())
	mgr, err := ctrl.NewManager(config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		b.Fatal(err)
	}
	return mgr, counter
}

// start starts a manager, and returns when its cache has synced.
func start(b *testing.B, mgr manager.Manager) {
	b.Helper()
	running, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mgr.Start(running) // what is wrong, who waits for the sync finds out
	}()
	b.Cleanup(func() { cancel(); <-ended })
	if !mgr.GetCache().WaitForCacheSync(b.Context()) {
		b.Fatal("the manager's cache does not sync")
	}
}

// frontDoor is what a user of coapply.For runs: a reconciler of an Ingress, which emits the Deployment and writes the
// Ingress's status.
func frontDoor(b *testing.B, s setup, t *target.Target) {
	b.Helper()
	mgr, counter := newManager(b, t)
	rt, err := coapply.New(mgr)
	if err != nil {
		b.Fatal(err)
	}
	start(b, mgr)
	r, err := coapply.For(rt, deployment.Manager(0), emitForIngress).Owns(&appsv1.Deployment{}).Status(statusOfIngress).Reconciler()
	if err != nil {
		b.Fatal(err)
	}
	key := types.NamespacedName{Namespace: s.Namespace, Name: "front-door"}
	once := func(ctx context.Context, _ int) error {
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		return err
	}
	parent := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: key.Name, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
	s.settled(b, parent, once, counter)
	timed(b, "through coapply.For", counter, once)
}

// settled makes a parent, has it reconciled, lets the other managers write to its Deployment, and returns when reconciles
// send nothing any more.
func (s setup) settled(b *testing.B, parent client.Object, once func(context.Context, int) error, counter *Counter) {
	b.Helper()
	if err := s.Admin.Create(b.Context(), parent); err != nil {
		b.Fatal(err)
	}
	untilSilent(b, once, counter)
	for j := 1; j < deployment.Managers; j++ {
		config := deployment.Intent(parent.GetNamespace(), parent.GetName(), j, deployment.Start)
		if err := s.Admin.Apply(b.Context(), config, client.FieldOwner(deployment.Manager(j))); err != nil {
			b.Fatal(err)
		}
	}
	untilSilent(b, once, counter)
}

// untilSilent returns when ten reconciles one after another have sent nothing.
func untilSilent(b *testing.B, once func(context.Context, int) error, counter *Counter) {
	b.Helper()
	end := time.Now().Add(10 * time.Second)
	for silent := 0; silent < 10; silent++ {
		err := once(b.Context(), 0)
		if sent := counter.Take(); err != nil || len(sent) > 0 {
			silent = 0
		}
		if time.Now().After(end) {
			b.Fatal("the reconciles do not become silent:", err)
		}
		time.Sleep(20 * time.Millisecond) // for the cache
	}
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
