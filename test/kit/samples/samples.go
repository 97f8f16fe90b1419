// Package samples has apply configurations for the tests of package apply and of its subpackages.
package samples

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/applyconfigurations"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// Shop returns a Deployment as a reconciler emits it.
func Shop() *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "web", "tier": "shop"}
	return appsv1ac.Deployment("web", "shop").
		WithLabels(labels).
		WithSpec(appsv1ac.DeploymentSpec().
			WithRevisionHistoryLimit(5).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(corev1ac.PodSpec().
					WithServiceAccountName("shop").
					WithTerminationGracePeriodSeconds(20).
					WithVolumes(corev1ac.Volume().WithName("tmp").WithEmptyDir(corev1ac.EmptyDirVolumeSource())).
					WithContainers(corev1ac.Container().
						WithName("web").
						WithImage("registry.example.com/shop:1.2.3").
						WithArgs("serve", "--port=8080").
						WithPorts(corev1ac.ContainerPort().WithName("http").WithContainerPort(8080)).
						WithEnv(
							corev1ac.EnvVar().WithName("LEVEL").WithValue("info"),
							corev1ac.EnvVar().WithName("REGION").WithValue("west"),
						).
						WithReadinessProbe(corev1ac.Probe().WithHTTPGet(
							corev1ac.HTTPGetAction().WithPath("/ready").WithPort(intstr.FromString("http")))).
						WithVolumeMounts(corev1ac.VolumeMount().WithName("tmp").WithMountPath("/tmp")).
						WithResources(corev1ac.ResourceRequirements().WithRequests(corev1.ResourceList{
							"cpu": resource.MustParse("1"), "memory": resource.MustParse("1Gi"),
						})),
					))))
}

// ConfigTypes returns the types of client-go's apply configurations, and of all structs in them.
func ConfigTypes() []reflect.Type {
	found := map[reflect.Type]bool{}
	var add func(reflect.Type)
	add = func(of reflect.Type) {
		if found[of] {
			return
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			add(of.Elem())
		case reflect.Struct:
			if found[of] = strings.HasPrefix(of.PkgPath(), "k8s.io/client-go/applyconfigurations/"); found[of] {
				for field := range of.Fields() {
					add(field.Type)
				}
			}
		}
	}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if config := applyconfigurations.ForKind(kind); config != nil {
			add(reflect.TypeOf(config))
		}
	}
	types := slices.DeleteFunc(slices.Collect(maps.Keys(found)), func(of reflect.Type) bool { return !found[of] })
	slices.SortFunc(types, func(a, b reflect.Type) int { return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name()) })
	return types
}
