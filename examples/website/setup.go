package website

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
)

// policy takes the page back from whoever changes it: the Website says what it is.
// Every other conflict is told, and is for people to settle.
var policy = apply.OnConflict(apply.Reject).
	At(".data", apply.Force).
	For(corev1ac.ConfigMap("", ""), appsv1ac.Deployment("", ""))

// Setup adds the reconciler to a manager.
func Setup(mgr ctrl.Manager) error {
	schemas, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return err
	}
	steady, err := apply.NewSteadyState(mgr.GetCache(), schemas.OpenAPIV3())
	if err != nil {
		return err
	}
	r, err := newReconciler(mgr.GetClient(), mgr.GetAPIReader(), steady, mgr.GetEventRecorder(FieldManager))
	if err != nil {
		return err
	}
	worth := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		For(&Website{}, builder.WithPredicates(worth)). // not its status, which we write
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}

func newReconciler(
	c client.Client, live client.Reader, steady *apply.SteadyState, told events.EventRecorder,
) (*reconciler.Reconciler[*Website], error) {
	lanes := lanes.New()
	applier, err := apply.New(c, apply.Config{FieldManager: FieldManager, Policy: policy, LiveReader: live, Lanes: lanes, Steady: steady})
	if err != nil {
		return nil, err
	}
	updater, err := update.New(update.Config{FieldManager: FieldManager, Client: c, LiveReader: live, Lanes: lanes})
	if err != nil {
		return nil, err
	}
	server := server{client: c, live: live}
	return reconciler.New(reconciler.Config[*Website]{
		Client: c, Applier: applier, Updater: updater, Events: told,
		Emit: emit, Status: server.status,
		Finalizer: Finalizer, Cleanup: server.cleanup,
	})
}

// Run runs a manager with the reconciler until the context ends.
func Run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	var err error
	if options.Scheme, err = newScheme(); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.Wrap(apply.RecordExchange) // before any client is made: outcomes say what was sent
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	if err := Setup(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), AddToScheme(scheme))
}
