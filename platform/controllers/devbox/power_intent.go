package devbox

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
)

// emitPower returns an intent with the replicas alone of the Deployment that the workload
// reconciler creates.
func emitPower(box *v1alpha1.Devbox) ([]apply.Intent, error) {
	var replicas int32
	if isToRun(box) {
		replicas = 1
	}
	deployment := appsv1ac.Deployment(box.Name, box.Namespace).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas))
	return []apply.Intent{{Config: deployment, MustExist: true}}, nil
}
