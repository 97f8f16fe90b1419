// Package peer has the ways in which Go controllers bring an object to what they want, each written as its users write it:
// what coapply is measured beside.
package peer

import (
	"context"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	// Name is stable: it stands in results.
	Name string
	// Summary is one line.
	Summary string
	// Silent says that it sends nothing where nobody has written to the object and nothing has to change.
	Silent bool
	// New starts it in a process.
	New func(Process) (Reconcile, error)
}

// Ours is the name of coapply's own way.
const Ours = "coapply"

// All gives the peers, ours first.
func All() []Peer {
	return []Peer{
		{Name: Ours, Summary: "apply.Applier with the steady-state check and lanes", Silent: true, New: ours},
		{Name: "client.Apply", Summary: "controller-runtime's client.Apply", New: plain},
		{Name: "client.Apply forced", Summary: "the same with ForceOwnership", New: forced},
		{Name: "fluxcd/pkg/ssa", Summary: "ResourceManager.Apply: GET, dry run, compare, apply if they differ", New: flux},
		{Name: "resourceVersion cache", Summary: "Cluster API's way: nothing sent for a known resourceVersion and intent", Silent: true, New: versionCache},
		{Name: "Extract + DeepEqual", Summary: "client-go's ExtractDeployment of the cached object, compared with the intent", Silent: true, New: extract},
		{Name: "CreateOrUpdate", Summary: "controllerutil on a cached client, setting field by field", Silent: true, New: createOrUpdate},
		{Name: "CreateOrUpdate, whole template", Summary: "the same, setting the pod template as a whole, as its example does", New: createOrUpdateWhole},
	}
}
