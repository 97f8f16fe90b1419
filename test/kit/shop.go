package kit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Shop is a Deployment as a reconciler emits it, with what servers default and
// normalise.
func Shop(name, namespace string) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name, "tier": "web"}
	return appsv1ac.Deployment(name, namespace).
		WithLabels(labels).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(3).
			WithRevisionHistoryLimit(5).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().
					WithServiceAccountName("shop").
					WithTerminationGracePeriodSeconds(20).
					WithNodeSelector(map[string]string{"kubernetes.io/os": "linux"}).
					WithVolumes(corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource())).
					WithContainers(corev1ac.Container().
						WithName("web").
						WithImage("registry.example.com/shop:1.2.3").
						WithArgs("serve", "--port=8080").
						WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(8080)).
						WithEnv(corev1ac.EnvVar().WithName("LEVEL").WithValue("info")).
						WithReadinessProbe(corev1ac.Probe().WithHTTPGet(
							corev1ac.HTTPGetAction().WithPath("/ready").WithPort(intstr.FromString("http")))).
						WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp")).
						WithResources(corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
							"cpu": resource.MustParse("1000m"), "memory": resource.MustParse("1024Mi"),
						})),
					))))
}
