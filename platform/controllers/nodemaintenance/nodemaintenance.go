// Package nodemaintenance contains the reconciler of NodeMaintenances. It cordons or uncordons nodes, a few at a time.
// A NodeMaintenance runs only once. Its nodes are selected at the start, and each node either succeeds or fails.
//
//	pick.go      selects the nodes
//	plan.go      selects the nodes of the next wave and computes the status, without requests
//	marks.go     finds the fields that a cordon sets on a node, finds the owners of these fields, and builds the intents
//	apply.go     implements the strategy Apply (Server-Side Apply)
//	update.go    implements the strategy Update (get-modify-update)
//	reconcile.go works on one wave in each reconcile
//
// A wave consists of the nodes that one reconcile works on concurrently. Before the first write to these nodes, the
// status lists them with their start times. After the wave, one status write records the results and begins the next
// wave. If the manager dies, the next manager repeats at most one wave, with the same deadlines. Nodes that are
// already in the desired state are not written to again.
//
// Nodes are read live and never from a cache. A NodeMaintenance is not reconciled again after its end, so a mistake
// caused by a stale read would not be corrected.
package nodemaintenance

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"coapply.dev"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// RBAC rules of the reconciler, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodemaintenances,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodemaintenances/status,verbs=update
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;patch;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// Annotation is an annotation of a node under maintenance. Its value is the name of the NodeMaintenance that cordoned the node last.
	Annotation = "platform.coapply.dev/maintenance"
	// ReasonAnnotation is an annotation of a node under maintenance. Its value is spec.reason of
	// the NodeMaintenance that cordoned the node last. Without a reason the annotation is absent.
	ReasonAnnotation = "platform.coapply.dev/maintenance-reason"
)

// atATime is the maximum number of NodeMaintenances that are reconciled concurrently. If it were 1, a NodeMaintenance
// that waits for the API server would delay all other NodeMaintenances.
const atATime = 10

// Setup adds the reconciler of NodeMaintenances to a manager. The reconciler does not watch nodes:
// a node that has succeeded or failed is not looked at again.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(),
		applying: applying{live: mgr.GetAPIReader()}, updating: updating{live: mgr.GetAPIReader()},
		events: mgr.GetEventRecorder(fieldmanagers.NodeMaintenance)}
	var err error
	strict, force := policies()
	if r.applying.strict, err = options.Runtime.Applier(fieldmanagers.NodeMaintenance, strict); err != nil {
		return fmt.Errorf("reconciler nodemaintenance: %w", err)
	}
	if r.applying.force, err = options.Runtime.Applier(fieldmanagers.NodeMaintenance, force); err != nil {
		return fmt.Errorf("reconciler nodemaintenance: %w", err)
	}
	if r.updating.updater, err = updater(update.Exponential, options); err != nil {
		return fmt.Errorf("reconciler nodemaintenance: %w", err)
	}
	if r.status, err = updater(update.DefaultRetry, options); err != nil {
		return fmt.Errorf("reconciler nodemaintenance: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.NodeMaintenance{}, builder.WithPredicates(coapply.Relevant[*v1alpha1.NodeMaintenance](fieldmanagers.NodeMaintenance))).
		WithOptions(controller.Options{MaxConcurrentReconciles: atATime}).
		Named("nodemaintenance").
		Complete(r)
}

func updater(backoff wait.Backoff, options setup.Options) (*update.Updater, error) {
	config := options.Runtime.UpdaterConfig(fieldmanagers.NodeMaintenance)
	config.Backoff = backoff
	return update.New(config)
}
