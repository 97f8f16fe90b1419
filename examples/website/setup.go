package website

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev"
	"coapply.dev/apply"
)

// policy takes the ConfigMap's data from other field managers, because only this controller may set the page. Every
// other conflict is rejected and reported, so that a person can resolve it.
var policy = apply.OnConflict(apply.Reject).At(".data", apply.Force)

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager) error {
	rt, err := coapply.New(mgr) // create one Runtime per process: all controllers share it
	if err != nil {
		return err
	}
	return controller(mgr, rt).Complete()
}

func controller(mgr ctrl.Manager, rt *coapply.Runtime) *coapply.Builder[*Website] {
	server := server{client: mgr.GetClient(), live: mgr.GetAPIReader()}
	return coapply.For(rt, FieldManager, emit).
		Owns(&corev1.ConfigMap{}).
		Owns(&appsv1.Deployment{}, coapply.ReadsStatus).
		OnConflict(policy).
		Finalizer(Finalizer, server.cleanup).
		Status(server.status)
}

// Run runs a manager with the controller until the context ends.
func Run(ctx context.Context, config *rest.Config, options ctrl.Options) error {
	var err error
	if options.Scheme, err = newScheme(); err != nil {
		return err
	}
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
