// Package nodemaintenance is the reconciler of NodeMaintenances: it cordons or uncordons nodes, a few at a time.
// A NodeMaintenance runs only once. Its nodes are selected at the start, and each node either succeeds or fails.
//
//	pick.go      selects the nodes
//	plan.go      decides which nodes are next, and computes the status; sends no request
//	marks.go     finds the fields that a cordon sets on a node (the marks) and their owners; builds the intents
//	apply.go     strategy Apply: Server-Side Apply
//	update.go    strategy Update, the fallback: get-modify-update with four attempts
//	reconcile.go works on one wave: several nodes at once, each until its deadline
//
// Each reconcile works on one wave of nodes. Before the first write to a node of the wave, the status lists the wave's nodes with their
// start times. One status write then records the results of this wave and begins the next wave. If the manager dies, the next manager
// repeats at most one wave. The deadlines do not change, and nodes that are already in the desired state are not written to again.
//
// Nodes are read live and never from a cache. A NodeMaintenance is not reconciled again after its
// end, so nothing would correct a mistake that is due to a stale read.
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
