package peers

import (
	"context"
	"encoding/json"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// createOrUpdate reads from the cache, and sends an update if set changes the Deployment.
func createOrUpdate(set func(live, wanted *appsv1.Deployment)) func(*world) (reconcileFunc, error) {
	return func(w *world) (reconcileFunc, error) {
		c := client.WithFieldOwner(w.cached, measured)
		return func(ctx context.Context, config *appsv1ac.DeploymentApplyConfiguration) error {
			wanted, err := typed(config)
			if err != nil {
				return err
			}
			live := &appsv1.Deployment{}
			live.Namespace, live.Name = wanted.Namespace, wanted.Name
			_, err = controllerutil.CreateOrUpdate(ctx, c, live, func() error {
				set(live, wanted)
				return nil
			})
			return err
		}, nil
	}
}

// typed converts an intent to the typed object that a user of CreateOrUpdate builds.
func typed(config *appsv1ac.DeploymentApplyConfiguration) (*appsv1.Deployment, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	wanted := &appsv1.Deployment{}
	return wanted, json.Unmarshal(raw, wanted)
}

// setTemplate sets the pod template as a whole, as the example in controllerutil's documentation does. This removes the
// default values that the API server has set in the template, so every reconcile sends an update.
func setTemplate(live, wanted *appsv1.Deployment) {
	setMetadata(live, wanted)
	live.Spec.Template = wanted.Spec.Template
}

// setFields sets each wanted field, and keeps the default values of the API server.
func setFields(live, wanted *appsv1.Deployment) {
	setMetadata(live, wanted)
	live.Spec.Paused, live.Spec.RevisionHistoryLimit = wanted.Spec.Paused, wanted.Spec.RevisionHistoryLimit
	pod, template := &live.Spec.Template, wanted.Spec.Template
	pod.Labels = merged(pod.Labels, template.Labels)
	pod.Spec.ServiceAccountName = template.Spec.ServiceAccountName
	pod.Spec.TerminationGracePeriodSeconds = template.Spec.TerminationGracePeriodSeconds
	for i := range template.Spec.Containers {
		setContainer(container(&pod.Spec, template.Spec.Containers[i].Name), &template.Spec.Containers[i])
	}
}

func setMetadata(live, wanted *appsv1.Deployment) {
	live.Labels, live.Annotations = merged(live.Labels, wanted.Labels), merged(live.Annotations, wanted.Annotations)
	if live.Spec.Selector == nil { // the selector cannot be changed
		live.Spec.Selector = wanted.Spec.Selector
	}
}

func merged(live, wanted map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, live)
	maps.Copy(all, wanted)
	return all
}

// container returns the container with the given name. It adds a container if there is none with this name.
func container(pod *corev1.PodSpec, name string) *corev1.Container {
	for i := range pod.Containers {
		if pod.Containers[i].Name == name {
			return &pod.Containers[i]
		}
	}
	pod.Containers = append(pod.Containers, corev1.Container{Name: name})
	return &pod.Containers[len(pod.Containers)-1]
}

func setContainer(live, wanted *corev1.Container) {
	live.Image, live.Args, live.Env, live.Resources = wanted.Image, wanted.Args, wanted.Env, wanted.Resources
	if len(live.Ports) != len(wanted.Ports) {
		live.Ports = wanted.Ports
	}
	for i := range wanted.Ports {
		live.Ports[i].Name, live.Ports[i].ContainerPort = wanted.Ports[i].Name, wanted.Ports[i].ContainerPort
	}
	if live.ReadinessProbe == nil {
		live.ReadinessProbe = &corev1.Probe{}
	}
	live.ReadinessProbe.PeriodSeconds = wanted.ReadinessProbe.PeriodSeconds
	if live.ReadinessProbe.HTTPGet == nil {
		live.ReadinessProbe.HTTPGet = &corev1.HTTPGetAction{}
	}
	live.ReadinessProbe.HTTPGet.Path, live.ReadinessProbe.HTTPGet.Port = wanted.ReadinessProbe.HTTPGet.Path, wanted.ReadinessProbe.HTTPGet.Port
}
