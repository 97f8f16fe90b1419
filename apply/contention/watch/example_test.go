package watch_test

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/apply/contention/watch"
)

// A process without package coapply that has its fights found: Deployments are its parents,
// and ConfigMaps what it applies to.
func Example() {
	run := func(ctx context.Context, mgr ctrl.Manager) error {
		state, err := contention.New(contention.Config{})
		if err != nil {
			return err
		}
		applier, err := apply.New(mgr.GetClient(), apply.Config{
			FieldManager: contention.FieldManager, LiveReader: mgr.GetAPIReader(), Policy: apply.OnConflict(apply.Force),
		})
		if err != nil {
			return err
		}
		fights, err := watch.New(mgr, state, applier)
		if err != nil {
			return err
		}
		if err := fights.Parent(appsv1.SchemeGroupVersion.WithKind("Deployment")); err != nil {
			return err
		}
		if err := fights.Kind(corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), mgr)
	}
	if err != nil {
		panic(err)
	}
}
