package slurmcontroller

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

type statusReader struct{ client client.Reader }

// status returns a Report with the conditions Applied and Ready and the name of the Service. The name is empty if the
// Service does not exist, or is not controlled by the SlurmController.
func (r statusReader) status(
	ctx context.Context, controller *v1alpha1.SlurmController, applied reconciler.Applied,
) (reconciler.Report[*v1alpha1.SlurmController], error) {
	none := reconciler.Report[*v1alpha1.SlurmController]{}
	var service corev1.Service
	reachable, err := r.own(ctx, controller, ServiceName(controller.Name), &service)
	if err != nil {
		return none, err
	}
	var set appsv1.StatefulSet
	runs, err := r.own(ctx, controller, controller.Name, &set)
	if err != nil {
		return none, err
	}
	var serviceName string
	if reachable {
		serviceName = service.Name
	}
	conditions := []metav1.Condition{
		reconciler.Condition(v1alpha1.ConditionApplied, controller.Generation, applied),
	}
	conditions = append(conditions, ready(conditions[0], runs && hasReadyPod(&set)))
	return reconciler.Report[*v1alpha1.SlurmController]{Change: func(controller *v1alpha1.SlurmController) error {
		controller.Status.ObservedGeneration = conditions[0].ObservedGeneration
		controller.Status.ServiceName = serviceName
		for _, condition := range conditions {
			meta.SetStatusCondition(&controller.Status.Conditions, condition)
		}
		return nil
	}}, nil
}

// own reads the object with the given name in the SlurmController's namespace. It reports whether the object exists
// and is controlled by the SlurmController.
func (r statusReader) own(ctx context.Context, controller *v1alpha1.SlurmController, name string, object client.Object) (bool, error) {
	err := r.client.Get(ctx, client.ObjectKey{Namespace: controller.Namespace, Name: name}, object)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return metav1.IsControlledBy(object, controller), nil
}

// hasReadyPod reports whether the StatefulSet has a ready pod that was created from the StatefulSet's current spec.
func hasReadyPod(set *appsv1.StatefulSet) bool {
	return set.Status.ObservedGeneration >= set.Generation && set.Status.ReadyReplicas > 0 && set.Status.UpdatedReplicas > 0
}

// ready returns the condition Ready. The argument isReady means that the pod is ready. If Applied is not True, Ready
// is False even for a ready pod, because the pod may have an earlier spec.
func ready(applied metav1.Condition, isReady bool) metav1.Condition {
	condition := setup.Ready(applied, "PodReady", "slurmctld's pod is ready")
	if condition.Status == metav1.ConditionTrue && !isReady {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "PodNotReady", "slurmctld's pod is missing or not ready"
	}
	return condition
}
