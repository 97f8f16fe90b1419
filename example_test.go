package coapply_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev"
	"coapply.dev/apply"
)

// A process with one controller: each Secret calls for a ConfigMap that says its type.
// examples/website is a whole program.
func Example() {
	run := func(ctx context.Context) error {
		config, err := ctrl.GetConfig()
		if err != nil {
			return err
		}
		mgr, err := ctrl.NewManager(config, ctrl.Options{})
		if err != nil {
			return err
		}
		rt, err := coapply.New(mgr)
		if err != nil {
			return err
		}
		err = coapply.For(rt, "copier", func(parent *corev1.Secret) ([]apply.Intent, error) {
			return []apply.Intent{{Config: corev1ac.ConfigMap(parent.Name, parent.Namespace).
				WithOwnerReferences(coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("Secret"))).
				WithData(map[string]string{"type": string(parent.Type)})}}, nil
		}).Owns(&corev1.ConfigMap{}).OnConflict(apply.OnConflict(apply.Reject)).Complete()
		if err != nil {
			return err
		}
		return mgr.Start(ctx)
	}
	if err := run(ctrl.SetupSignalHandler()); err != nil {
		panic(err)
	}
}
