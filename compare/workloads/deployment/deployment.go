// Package deployment defines a Deployment for the benchmarks of this module. Four field managers own its fields, like
// the controllers of a platform.
package deployment

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind is the GroupVersionKind of Deployment.
var Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Start is the value of the annotations after Prepare.
const Start = "start"

// Managers is the number of field managers that apply to the Deployment.
const Managers = 4

// Annotation returns the key of the j-th manager's annotation. A benchmark changes the value of this annotation if
// its applies must not be no-ops.
func Annotation(j int) string { return "compare.coapply.dev/by-" + Manager(j) }

// Manager returns the name of the j-th field manager. The first manager owns the most fields.
func Manager(j int) string { return fmt.Sprintf("m%d", j) }

// Intent returns the apply configuration of the j-th manager, with the given value for its annotation.
func Intent(namespace, name string, j int, value string) *appsv1ac.DeploymentApplyConfiguration {
	config := appsv1ac.Deployment(name, namespace).WithAnnotations(map[string]string{Annotation(j): value})
	switch j {
	case 0:
		return config.WithLabels(labels(name)).WithSpec(workload(name))
	case 1: // the fields of an autoscaler
		return config.WithSpec(appsv1ac.DeploymentSpec().WithReplicas(2))
	case 2: // the fields of a controller that injects settings
		return config.WithSpec(appsv1ac.DeploymentSpec().WithTemplate(corev1ac.PodTemplateSpec().
			WithAnnotations(map[string]string{"checksum/config": "5f2b"}).
			WithSpec(corev1ac.PodSpec().WithPriorityClassName("system-node-critical"))))
	}
	return config.WithLabels(map[string]string{"cost-centre": "research"})
}

// Prepare creates the Deployment: each field manager applies its intent, one after the other.
func Prepare(ctx context.Context, c client.Client, namespace, name string) error {
	for j := range Managers {
		if err := c.Apply(ctx, Intent(namespace, name, j, Start), client.FieldOwner(Manager(j))); err != nil {
			return fmt.Errorf("applying as field manager %s to Deployment %s: %w", Manager(j), name, err)
		}
	}
	return nil
}

// Unstructured converts an apply configuration to an unstructured object.
func Unstructured(config *appsv1ac.DeploymentApplyConfiguration) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	err = object.UnmarshalJSON(raw)
	return object, err
}

func labels(name string) map[string]string {
	return map[string]string{"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "peers"}
}

// workload returns a spec with about 20 fields. Some fields are quantities, and some are lists. The API server adds
// default values to the items of the lists. The Deployment is paused, so that its controller creates no pods.
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
