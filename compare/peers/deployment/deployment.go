// Package deployment is the Deployment that every measure is made on: what its four field managers own of it, as a
// platform's controllers share one.
package deployment

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	corev1 "k8s.io/api/core/v1"
)

// Managers is how many field managers apply to the Deployment.
const Managers = 4

// Annotation is the key that the j-th manager owns beside its other fields: what it changes where it changes something.
func Annotation(j int) string { return "peers.coapply.dev/" + Manager(j) }

// Manager names the j-th field manager. The first of them, Workload, owns most.
func Manager(j int) string { return fmt.Sprintf("m%d", j) }

// Workload is the field manager that is measured where one is.
const Workload = "m0"

// Intent is what the j-th manager wants to own, with its annotation at a value.
func Intent(namespace, name string, j int, value string) *appsv1ac.DeploymentApplyConfiguration {
	config := appsv1ac.Deployment(name, namespace).WithAnnotations(map[string]string{Annotation(j): value})
	switch j {
	case 0:
		return config.WithLabels(labels(name)).WithSpec(workload(name))
	case 1: // as an autoscaler
		return config.WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2))
	case 2: // as an injector of settings
		return config.WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().
			WithAnnotations(map[string]string{"checksum/config": "5f2b"}).
			WithSpec(corev1ac.PodSpec().WithPriorityClassName("system-node-critical"))))
	}
	return config.WithLabels(map[string]string{"cost-centre": "research"})
}

func labels(name string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "peers"}
}

// workload is some 20 fields, with quantities, and with lists whose items the server gives defaults. The Deployment is
// paused, so that its controller makes no pods of it.
func workload(name string) *appsv1ac.DeploymentSpecApplyConfiguration {
	container := corev1ac.Container().WithName("web").WithImage("registry.example.com/web:1.4.2").
		WithArgs("--listen=:8080", "--log=json").
		WithPorts(
			corev1ac.ContainerPort().WithName("http").WithContainerPort(8080),
			corev1ac.ContainerPort().WithName("metrics").WithContainerPort(9090)).
		WithEnv(
			corev1ac.EnvVar().WithName("REGION").WithValue("eu"),
			corev1ac.EnvVar().WithName("TIER").WithValue("web")).
		WithResources(corev1ac.ResourceRequirements().
			WithRequests(quantities("500m", "256Mi")).WithLimits(quantities("1", "512Mi"))).
		WithReadinessProbe(corev1ac.Probe().WithPeriodSeconds(5).
			WithHTTPGet(corev1ac.HTTPGetAction().WithPath("/ready").WithPort(intstr.FromInt32(8080))))
	return appsv1ac.DeploymentSpec().
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{"app.kubernetes.io/name": name})).
		WithPaused(true).WithRevisionHistoryLimit(3).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels(name)).
			WithSpec(corev1ac.PodSpec().WithServiceAccountName("default").WithTerminationGracePeriodSeconds(20).
				WithContainers(container)))
}

func quantities(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}
}
