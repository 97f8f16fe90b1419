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
