package scale

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
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

// reconciler is one of the managers.
type reconciler struct {
	index     int
	namespace string

	client  client.Client  // of one written by hand
	applier *apply.Applier // of one written by hand

	reconciles atomic.Int64

	mu   sync.Mutex
	seen map[types.NamespacedName]bool // seen at least once; nil once all are
	want int
	all  chan struct{} // closed then
}

func (m *manager) newReconciler(index int) *reconciler {
	r := &reconciler{
		index: index, namespace: m.Namespace, want: m.Objects, seen: map[types.NamespacedName]bool{}, all: make(chan struct{}),
	}
	m.reconcilers = append(m.reconcilers, r)
	return r
}

// setUp adds the reconcilers as a user does.
func (m *manager) setUp(mgr ctrl.Manager) error {
	rt, err := coapply.New(mgr)
	if err != nil {
		return err
	}
	for j := range deployment.Managers {
		r := m.newReconciler(j)
		if err := coapply.For(rt, deployment.Manager(j), r.emit).Named(deployment.Manager(j)).Complete(); err != nil {
			return err
		}
	}
	return nil
}

// emit is all that a reconciler is.
func (r *reconciler) emit(object *appsv1.Deployment) ([]apply.Intent, error) {
	if object.Namespace != r.namespace {
		return nil, nil
	}
	r.reconciles.Add(1)
	r.saw(client.ObjectKeyFromObject(object))
	return []apply.Intent{{Config: deployment.Intent(object.Namespace, object.Name, r.index, deployment.Start), MustExist: true}}, nil
}

// setUpByHand adds reconcilers that are woken by every change. Lanes and check are those of the process.
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
		r := m.newReconciler(j)
		r.client = mgr.GetClient()
		r.applier, err = apply.New(mgr.GetClient(), apply.Config{
			FieldManager: deployment.Manager(j), LiveReader: mgr.GetAPIReader(), Lanes: lanes, Steady: steady,
		})
		if err != nil {
			return err
		}
		if err := ctrl.NewControllerManagedBy(mgr).Named(deployment.Manager(j)).For(&appsv1.Deployment{}).WithEventFilter(seeded).Complete(r); err != nil {
			return err
		}
	}
	return nil
}

// Reconcile reads the object, emits the intent and applies it.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if err := r.apply(ctx, request.NamespacedName); err != nil {
		return reconcile.Result{}, fmt.Errorf("%s: %w", deployment.Manager(r.index), err)
	}
	r.reconciles.Add(1)
	r.saw(request.NamespacedName)
	return reconcile.Result{}, nil
}

func (r *reconciler) apply(ctx context.Context, name types.NamespacedName) error {
	object := &appsv1.Deployment{}
	if err := r.client.Get(ctx, name, object); err != nil {
		return client.IgnoreNotFound(err)
	}
	config := deployment.Intent(name.Namespace, name.Name, r.index, deployment.Start)
	_, err := r.applier.Apply(ctx, apply.Intent{Config: config, MustExist: true, Read: object})
	return err
}

// saw counts objects until all have come.
func (r *reconciler) saw(name types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		return
	}
	r.seen[name] = true
	if len(r.seen) == r.want {
		r.seen = nil // it is none of the memory that is measured
		close(r.all)
	}
}
