// Package unchanged has the ways in which Go controllers bring an object to what they want, each written as its users write
// it, and measures what a reconcile costs that has nothing to change: the requests that it sends, and the time of its process.
package unchanged

import (
	"context"

	"github.com/fluxcd/pkg/ssa"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/compare/workloads/deployment"
)

// Process is what a controller's process has.
type Process struct {
	// Client reads from a cache and writes to the API server, as a manager's client does; Live reads past the cache.
	Client client.Client
	Live   client.Client
	// Cache is what Client reads from.
	Cache client.Reader
	// Schemas are the API server's.
	Schemas openapi.Client
	// Manager is the field manager to write as.
	Manager string
}

// Reconcile brings a Deployment to what is wanted. It is what a reconciler does with each object that it emits.
type Reconcile func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error

// Peer is one way.
type Peer struct {
	// Name is that of its benchmarks.
	Name string
	// Silent says that it sends nothing where nobody has written to the object and nothing has to change.
	Silent bool
	// New starts it in a process.
	New func(Process) (Reconcile, error)
}

// ours is the name of coapply's own way.
const ours = "coapply"

// all peers, ours first.
func all() []Peer {
	return []Peer{
		{Name: ours, Silent: true, New: applier},
		{Name: "client.Apply", New: applying()},
		{Name: "client.Apply forced", New: applying(client.ForceOwnership)},
		{Name: "fluxcd/pkg/ssa", New: flux},
		{Name: "resourceVersion cache", Silent: true, New: versionCache},
		{Name: "Extract + DeepEqual", Silent: true, New: extract},
		{Name: "CreateOrUpdate", Silent: true, New: createOrUpdate},
		{Name: "CreateOrUpdate, whole template", New: createOrUpdateWhole},
	}
}

// applier is one of a process; its lanes and steady-state check would be shared with the process's others.
func applier(p Process) (Reconcile, error) {
	steady, err := apply.NewSteadyState(p.Cache, p.Schemas)
	if err != nil {
		return nil, err
	}
	a, err := apply.New(p.Client, apply.Config{FieldManager: p.Manager, LiveReader: p.Live, Lanes: lanes.New(), Steady: steady})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		_, err := a.Apply(ctx, apply.Intent{Config: wanted})
		return err
	}, nil
}

// applying sends the intent, whatever stands.
func applying(options ...client.ApplyOption) func(Process) (Reconcile, error) {
	return func(p Process) (Reconcile, error) {
		return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
			return p.Client.Apply(ctx, wanted, append(options, client.FieldOwner(p.Manager))...)
		}, nil
	}
}

// flux reads live, as Flux' controllers do, then makes a dry run, compares, and applies if they differ.
func flux(p Process) (Reconcile, error) {
	manager := ssa.NewResourceManager(p.Live, nil, ssa.Owner{Field: p.Manager, Group: "peers.coapply.dev"})
	return func(ctx context.Context, wanted *appsv1ac.DeploymentApplyConfiguration) error {
		object, err := deployment.Unstructured(wanted)
		if err != nil {
			return err
		}
		_, err = manager.Apply(ctx, object, ssa.DefaultApplyOptions())
		return err
	}, nil
}
