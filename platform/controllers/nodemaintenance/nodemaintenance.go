// Package nodemaintenance cordons and uncordons nodes, a few at a time. A NodeMaintenance is
// done once: its nodes are picked once, and each gets one result.
//
//	pick.go     which nodes the work is about
//	plan.go     which nodes next, and what the status says: pure
//	marks.go    what of a maintenance stands on a node, whose it is, and what is applied: pure
//	apply.go    the way of Server-Side Apply
//	update.go   the fallback: get-modify-update with four attempts
//	reconcile.go one wave: nodes side by side, each until its deadline
//
// A reconcile does one wave. The nodes of a wave, with the time at which their turn
// came, stand in the status before the first of them is written to, and one status
// write records what became of them and begins the next wave. So a manager that
// dies in between repeats a wave and nothing else; to a node that was done it writes
// nothing, and a node's deadline does not begin anew.
//
// Nodes are read live, never from a cache: as the work is done once, a mistake by an old view
// would not be corrected later.
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

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodemaintenances,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodemaintenances/status,verbs=update
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;patch;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// Annotation is on a node under maintenance; its value is the name of the NodeMaintenance
	// that cordoned it last.
	Annotation = "platform.coapply.dev/maintenance"
	// ReasonAnnotation is on a node under maintenance; its value is that NodeMaintenance's
	// spec.reason. Without a reason it is absent.
	ReasonAnnotation = "platform.coapply.dev/maintenance-reason"
)

// atATime is how many NodeMaintenances are worked on side by side, so that one whose nodes do
// not answer does not hold up others.
const atATime = 10

// Setup adds the reconciler. Nodes are not watched, as later changes of a node do not matter to
// work that is done. Intents for nodes have no Belongs.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(),
		applying: applying{live: mgr.GetAPIReader()}, updating: updating{live: mgr.GetAPIReader()},
		events: mgr.GetEventRecorder(fieldmanagers.NodeMaintenance)}
	var err error
	strict, force := policies()
	if r.applying.strict, err = options.Runtime.Applier(fieldmanagers.NodeMaintenance, strict); err != nil {
		return fmt.Errorf("nodemaintenance: %w", err)
	}
	if r.applying.force, err = options.Runtime.Applier(fieldmanagers.NodeMaintenance, force); err != nil {
		return fmt.Errorf("nodemaintenance: %w", err)
	}
	if r.updating.updater, err = updater(update.Exponential, options); err != nil {
		return fmt.Errorf("nodemaintenance: %w", err)
	}
	if r.status, err = updater(update.DefaultRetry, options); err != nil {
		return fmt.Errorf("nodemaintenance: %w", err)
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
