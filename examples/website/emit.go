package website

import (
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev"
	"coapply.dev/apply"
)

// FieldManager is the field manager of the reconciler. It must never change, because it owns fields
// of existing objects.
const FieldManager = "example-website"

// emit returns the intents of a ConfigMap with the page, and of a Deployment that serves the page.
// It does not set the Deployment's replicas, so that another field manager can own them.
func emit(site *Website) ([]apply.Intent, error) {
	owner := coapply.OwnedBy(site, GroupVersion.WithKind("Website")) // so that the children are deleted with the Website
	labels := map[string]string{"example.com/website": site.Name}
	page := corev1ac.ConfigMap(childName(site.Name), site.Namespace).
		WithLabels(labels).
		WithOwnerReferences(owner).
		WithData(map[string]string{"index.html": site.Spec.Page})
	server := appsv1ac.Deployment(childName(site.Name), site.Namespace).
		WithLabels(labels).
		WithOwnerReferences(owner).
		WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(podSpec(childName(site.Name)))))
	return []apply.Intent{{Config: page}, {Config: server}}, nil
}

func podSpec(page string) *corev1ac.PodSpecApplyConfiguration {
	return corev1ac.PodSpec().
		WithContainers(corev1ac.Container().
			WithName("web").
			WithImage("nginx:1.29").
			WithVolumeMounts(corev1ac.VolumeMount().WithName("page").WithMountPath("/usr/share/nginx/html"))).
		WithVolumes(corev1ac.Volume().
			WithName("page").
			WithConfigMap(corev1ac.ConfigMapVolumeSource().WithName(page)))
}

// childName returns the name of the ConfigMap and the Deployment of a Website. The suffix avoids
// clashes with other objects.
func childName(site string) string { return site + "-website" }
