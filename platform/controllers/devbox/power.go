package devbox

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// SetupPower adds the power reconciler to a manager. This reconciler owns the replicas of a Devbox's Deployment.
func SetupPower(_ ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, fieldmanagers.DevboxPower, emitPower).
		Named("devbox-power").
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{},
			coapply.Changed(func(child client.Object) any { return metav1.GetControllerOf(child) }),
			coapply.BesidesStatus(func(d *appsv1.Deployment) any { return d.Status })))).
		OnConflict(replicasPolicy(options.Replicas)).
		Belongs(isDevboxes).
		Status(powerStatus).
		Complete()
}

// replicasPolicy returns the conflict policy of the power reconciler. It uses the given decision for conflicts over
// the replicas, and rejects other conflicts. Replicas that are owned by before-first-apply are always forced. If a
// client has cleared the managed fields of an object, the API server adds this owner at the next apply.
func replicasPolicy(decision apply.Decision) apply.Policy {
	const replicas = ".spec.replicas"
	return apply.OnConflict(apply.Reject).At(replicas, decision).
		When(apply.Match{Path: replicas, Manager: fieldowners.BeforeFirstApply}, apply.Force)
}

func powerStatus(_ context.Context, box *v1alpha1.Devbox, applied reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	condition := deploymentCondition(v1alpha1.ConditionPowerApplied, box, applied)
	return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
		meta.SetStatusCondition(&box.Status.Conditions, condition)
		setup.SetContended(&box.Status.Conditions, condition.ObservedGeneration, applied)
		return nil
	}}, nil
}

// emitPower returns an intent that sets only the replicas of the Deployment. The replicas are 1 if spec.state is
// Running, and 0 otherwise. If the Deployment does not exist, the intent has no effect.
func emitPower(box *v1alpha1.Devbox) ([]apply.Intent, error) {
	var replicas int32
	if isToRun(box) {
		replicas = 1
	}
	deployment := appsv1ac.Deployment(box.Name, box.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas))
	return []apply.Intent{{Config: deployment, MustExist: true}}, nil
}
