package kit

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/test/kit/samples"
)

// Shop returns samples.Shop with another name and namespace, with replicas, and with an atomic map (the node selector).
func Shop(name, namespace string) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name, "tier": "web"}
	shop := samples.Shop().WithName(name).WithNamespace(namespace).WithLabels(labels)
	shop.Spec.WithReplicas(3)
	shop.Spec.Selector.WithMatchLabels(labels)
	shop.Spec.Template.WithLabels(labels)
	shop.Spec.Template.Spec.WithNodeSelector(map[string]string{"kubernetes.io/os": "linux"})
	return shop
}
