package nodemaintenance

import (
	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
)

// cordon returns the intent of a cordoned node, with the reason. It is pinned to the node that
// was read, so that a deleted node is not brought back.
func cordon(node *corev1.Node, work *v1alpha1.NodeMaintenance) apply.Intent {
	annotations := map[string]string{Annotation: work.Name}
	if work.Spec.Reason != "" {
		annotations[ReasonAnnotation] = work.Spec.Reason
	}
	config := corev1ac.Node(node.Name).
		WithAnnotations(annotations).
		WithSpec(corev1ac.NodeSpec().WithUnschedulable(true))
	return apply.Intent{Config: config, UID: node.UID}
}

// take returns an intent that makes marks ours, so that a release removes them: no other owner
// is left by whom the cordon would stay.
func take(node *corev1.Node, marks []mark) apply.Intent {
	config := corev1ac.Node(node.Name)
	for _, m := range marks {
		if m.annotation == "" {
			config.WithSpec(corev1ac.NodeSpec().WithUnschedulable(false))
		} else {
			config.WithAnnotations(map[string]string{m.annotation: ""})
		}
	}
	return apply.Intent{Config: config, UID: node.UID}
}
