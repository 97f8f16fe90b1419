package peers

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
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/compare/workloads/deployment"
)

// frontDoor benchmarks the reconciler of a user of coapply.For. The reconciler emits a Deployment for an Ingress, and
// writes the status of the Ingress.
func frontDoor(b *testing.B, w *world) {
	b.Helper()
	mgr, err := ctrl.NewManager(w.sent.counted(w.Admin()), ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	fatal(b, err)
	rt, err := coapply.New(mgr)
	fatal(b, err)
	run(b, mgr.Start)
	mgr.GetCache().WaitForCacheSync(b.Context())
	r, err := coapply.For(rt, measured, emitForIngress).Owns(&appsv1.Deployment{}).Status(statusOfIngress).Reconciler()
	fatal(b, err)
	key := types.NamespacedName{Namespace: w.Namespace(), Name: "front-door"}
	once := func(ctx context.Context, _ int) error {
		_, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		return err
	}
	fatal(b, w.admin.Create(b.Context(), &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: key.Name, Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}))
	w.untilSilent(b, once)
	for j := 1; j < deployment.Managers; j++ {
		config := deployment.Intent(key.Namespace, key.Name, j, deployment.Start)
		fatal(b, w.admin.Apply(b.Context(), config, client.FieldOwner(deployment.Manager(j))))
	}
	w.untilSilent(b, once)
	w.timed(b, "through coapply.For", once)
}

// untilSilent returns when ten consecutive reconciles have sent nothing.
func (w *world) untilSilent(b *testing.B, once func(context.Context, int) error) {
	b.Helper()
	end := time.Now().Add(10 * time.Second)
	for silent := 0; silent < 10; silent++ {
		w.sent.all.Store(0)
		err := once(b.Context(), 0)
		if err != nil || w.sent.all.Load() > 0 {
			silent = 0
		}
		if time.Now().After(end) {
			b.Fatal("after ten seconds, reconciles still send requests or fail:", err)
		}
		time.Sleep(20 * time.Millisecond) // for the cache
	}
}

func emitForIngress(parent *networkingv1.Ingress) ([]apply.Intent, error) {
	owner := coapply.OwnedBy(parent, networkingv1.SchemeGroupVersion.WithKind("Ingress"))
	config := deployment.Intent(parent.Namespace, parent.Name, 0, deployment.Start).WithOwnerReferences(owner)
	return []apply.Intent{{Config: config}}, nil
}

// statusOfIngress reports the host name of the Ingress when its Deployment was applied.
func statusOfIngress(_ context.Context, _ *networkingv1.Ingress, applied reconciler.Applied) (reconciler.Report[*networkingv1.Ingress], error) {
	if len(applied.Errs) > 0 {
		return reconciler.Report[*networkingv1.Ingress]{}, nil
	}
	return reconciler.Report[*networkingv1.Ingress]{Change: func(parent *networkingv1.Ingress) error {
		parent.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: parent.Name + ".example.com"}}
		return nil
	}}, nil
}
