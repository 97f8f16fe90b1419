package neighbours

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

var rejects = apply.OnConflict(apply.Reject)

// scaler applies .spec.replicas of the Deployment web and nothing else, as a controller of ours.
func (w *world) scaler(replicas int32, policy apply.Policy) error {
	w.t.Helper()
	applier, err := apply.New(w.Client, apply.Config{FieldManager: "shop-size", Policy: policy, LiveReader: w.Client})
	if err != nil {
		w.t.Fatal(err)
	}
	wanted := appsv1ac.Deployment("web", w.Namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas))
	_, err = applier.Apply(w.t.Context(), apply.Intent{Config: wanted, MustExist: true})
	return err
}

// scaled is a step of that controller, which rejects conflicts, and has to meet none.
func (w *world) scaled(replicas int32) {
	w.t.Helper()
	if err := w.scaler(replicas, rejects); err != nil {
		w.t.Error(err)
	}
}
