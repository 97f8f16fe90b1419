package kit

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Deployment returns a Deployment with one container.
func Deployment(name, namespace, image string) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name}
	return appsv1ac.Deployment(name, namespace).WithSpec(appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
			WithSpec(corev1ac.PodSpec().WithContainers(
				corev1ac.Container().WithName("web").WithImage(image).
					WithPorts(corev1ac.ContainerPort().WithContainerPort(80))))))
}

// Replicas returns a Deployment that sets only its replicas.
func Replicas(name, namespace string, n int32) *appsv1ac.DeploymentApplyConfiguration {
	return appsv1ac.Deployment(name, namespace).WithSpec(appsv1ac.DeploymentSpec().WithReplicas(n))
}

// Quantity parses a quantity.
func Quantity(s string) resource.Quantity { return resource.MustParse(s) }

// WebDeployment returns a Deployment as a client sends it in a create or update.
func WebDeployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: OnePodSpec()},
		},
	}
}

// OnePodSpec returns the spec of a pod with two containers.
func OnePodSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "none"}, {Name: "side", Image: "none"}}}
}

// BelongsAlways is a value for Intent.Belongs that accepts every object.
func BelongsAlways(client.Object) bool { return true }

// ObjectOf returns an unstructured object with a spec.
func ObjectOf(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "spec": spec,
		"metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}
