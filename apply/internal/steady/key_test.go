package steady

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit/samples"
)

// TestKeyOf: the same content has the same key, other content has another.
func TestKeyOf(t *testing.T) {
	container := func(d *appsv1ac.DeploymentApplyConfiguration) *corev1ac.ContainerApplyConfiguration {
		return &d.Spec.Template.Spec.Containers[0]
	}
	type deployment = *appsv1ac.DeploymentApplyConfiguration
	changes := map[string]func(deployment){
		"nothing":           func(deployment) {},
		"the name":          func(d deployment) { d.WithName("other") },
		"the namespace":     func(d deployment) { d.WithNamespace("other") },
		"no replicas":       func(d deployment) { d.Spec.WithReplicas(0) },
		"a replica":         func(d deployment) { d.Spec.WithReplicas(1) },
		"a label":           func(d deployment) { d.WithLabels(map[string]string{"tier": "other"}) },
		"a label more":      func(d deployment) { d.WithLabels(map[string]string{"more": ""}) },
		"labels swapped":    func(d deployment) { d.Labels["app"], d.Labels["tier"] = d.Labels["tier"], d.Labels["app"] },
		"an annotation":     func(d deployment) { d.WithAnnotations(map[string]string{"tier": "shop"}) },
		"an argument split": func(d deployment) { container(d).Args = []string{"serve", "--port", "=8080"} },
		"an argument moved": func(d deployment) { container(d).Args = []string{"serve--port", "=8080"} },
		"arguments turned":  func(d deployment) { container(d).Args = []string{"--port=8080", "serve"} },
		"a quantity":        func(d deployment) { (*container(d).Resources.Requests)["cpu"] = resource.MustParse("2") },
		"a quantity less":   func(d deployment) { delete(*container(d).Resources.Requests, "cpu") },
		"limits": func(d deployment) {
			container(d).Resources.WithLimits(corev1.ResourceList{"cpu": resource.MustParse("1")})
		},
		"a variable empty":   func(d deployment) { container(d).Env[0].WithValue("") },
		"a variable without": func(d deployment) { container(d).Env[0].Value = nil },
		"a container more":   func(d deployment) { d.Spec.Template.Spec.WithContainers(corev1ac.Container()) },
		"an init container":  func(d deployment) { d.Spec.Template.Spec.WithInitContainers(corev1ac.Container().WithName("init")) },
	}
	seen := map[Key]string{}
	for name, change := range changes {
		config := samples.Shop()
		change(config)
		key, ok := KeyOf(config, "shop", "")
		if other, twice := seen[key]; twice || !ok {
			t.Errorf("%s and %q have one key: %v", name, other, ok)
		}
		seen[key] = name
		again := &appsv1ac.DeploymentApplyConfiguration{}
		raw, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, again); err != nil {
			t.Fatal(err)
		}
		if same, ok := KeyOf(again, "shop", ""); !ok || same != key {
			t.Errorf("%s: another key for the same content", name)
		}
		if other, ok := KeyOf(config, "shop", "status"); !ok || other == key {
			t.Errorf("%s: one key for two subresources", name)
		}
	}
	for _, config := range []runtime.ApplyConfiguration{nil, (*appsv1ac.DeploymentApplyConfiguration)(nil), client.ApplyConfigurationFromUnstructured(nil)} {
		if _, ok := KeyOf(config, "shop", ""); ok {
			t.Errorf("a key for %T", config)
		}
	}
	raw := &unstructured.Unstructured{Object: map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "b"}}}
	first, ok := KeyOf(client.ApplyConfigurationFromUnstructured(raw), "shop", "")
	if again, ok := KeyOf(client.ApplyConfigurationFromUnstructured(raw), "shop", ""); !ok || again != first {
		t.Error("unstructured: two keys for one content")
	}
	raw.Object["data"] = map[string]any{"a": "c"}
	if second, ok2 := KeyOf(client.ApplyConfigurationFromUnstructured(raw), "shop", ""); !ok || !ok2 || first == second {
		t.Error("unstructured: one key for two contents")
	}
}
