// Package nodemaintenance cordons and uncordons nodes, a few at a time. A NodeMaintenance runs
// once: its nodes are selected once, and each node gets one result.
//
//	pick.go      selects the nodes
//	plan.go      decides which nodes are next, and computes the status; sends no request
//	marks.go     finds the fields that a cordon sets, the marks, and their owners; builds the intents
//	apply.go     strategy Apply: Server-Side Apply
//	update.go    strategy Update, the fallback: get-modify-update with four attempts
//	reconcile.go works on one wave: several nodes at once, each until its deadline
//
// Each reconcile works on one wave of nodes. The status lists the nodes of a wave, with their
// start times, before the first write to any of them. One status write then records the results
// of the wave and begins the next wave. So if the manager dies, at most one wave is repeated: a
// node that is already in the desired state is not written to, and the deadlines stay the same.
//
// Nodes are read live, never from a cache. The work runs only once, so a mistake due to a stale
// read would not be corrected later.
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
	// Annotation marks a node under maintenance. Its value is the name of the NodeMaintenance
	// that cordoned the node last.
	Annotation = "platform.coapply.dev/maintenance"
	// ReasonAnnotation is an annotation of a node under maintenance. Its value is spec.reason of
	// the NodeMaintenance in Annotation. Without a reason the annotation is absent.
	ReasonAnnotation = "platform.coapply.dev/maintenance-reason"
)

// atATime is the number of NodeMaintenances that are reconciled concurrently, so that a
// NodeMaintenance that waits for the API server does not delay the others.
const atATime = 10

// Setup adds the reconciler of NodeMaintenances to a manager. It does not watch nodes, because
// changes of a node after its result do not matter.
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
