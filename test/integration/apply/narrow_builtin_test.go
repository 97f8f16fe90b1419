package apply

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var narrowKinds = []narrowKind{
	gadgetKind, gadgetKind,
	{
		kinds: []schema.GroupVersionKind{appsv1.SchemeGroupVersion.WithKind("Deployment")},
		odd:   narrowDeployment,
		edits: append(slices.Clone(deploymentEdits), metadataEdits...),
	},
	gadgetKind, gadgetKind,
	{
		kinds: []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")},
		odd: func(_ *rand.Rand, owner string) map[string]any {
			return map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{owner: "1.0"}},
				"data":     map[string]any{owner: "1000m"},
			}
		},
		edits: append(slices.Clone(configMapEdits), metadataEdits...),
	},
}

func narrowDeployment(r *rand.Rand, owner string) map[string]any {
	container := some(r, map[string]any{
		"resources": map[string]any{"requests": map[string]any{"cpu": "1000m"}, "limits": map[string]any{}},
		"env":       []any{map[string]any{"name": "A", "value": ""}, map[string]any{"name": "B-" + owner, "value": "b"}},
		"ports":     []any{map[string]any{"containerPort": int64(53), "protocol": "TCP"}, map[string]any{"containerPort": int64(53), "protocol": "UDP"}},
	})
	container["name"], container["image"] = owner, "registry.example.com/a:1"
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{owner: "1.0"}},
		"spec": map[string]any{
			"replicas": int64(0),
			"selector": map[string]any{"matchLabels": map[string]any{"app": "narrow"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "narrow"}, "creationTimestamp": nil},
				"spec":     map[string]any{"containers": []any{container}, "securityContext": map[string]any{}},
			},
		},
	}
}

func containersOf(raw map[string]any) []any {
	return below(raw, "spec", "template", "spec")["containers"].([]any)
}

var deploymentEdits = []narrowEdits{
	func(r *rand.Rand, _ client.Object) *narrowEdit {
		n := int32(1 + r.IntN(3))
		return &narrowEdit{"replicas", func(o client.Object) { o.(*appsv1.Deployment).Spec.Replicas = &n }, func(raw map[string]any) { below(raw, "spec")["replicas"] = int64(n) }}
	},
	func(r *rand.Rand, o client.Object) *narrowEdit {
		i := r.IntN(len(o.(*appsv1.Deployment).Spec.Template.Spec.Containers))
		image := fmt.Sprintf("registry.example.com/ours:%d", r.IntN(9))
		return &narrowEdit{"an image", func(o client.Object) {
			o.(*appsv1.Deployment).Spec.Template.Spec.Containers[i].Image = image
		}, func(raw map[string]any) { containersOf(raw)[i].(map[string]any)["image"] = image }}
	},
	func(_ *rand.Rand, _ client.Object) *narrowEdit {
		return &narrowEdit{"a variable first", func(o client.Object) {
			c := &o.(*appsv1.Deployment).Spec.Template.Spec.Containers[0]
			c.Env = append([]corev1.EnvVar{{Name: "OURS", Value: "1"}}, c.Env...)
		}, func(raw map[string]any) {
			c := containersOf(raw)[0].(map[string]any)
			c["env"] = append([]any{map[string]any{"name": "OURS", "value": "1"}}, items(c, "env")...)
		}}
	},
	func(_ *rand.Rand, o client.Object) *narrowEdit {
		if len(o.(*appsv1.Deployment).Spec.Template.Spec.Containers) < 2 {
			return nil
		}
		return &narrowEdit{"containers the other way round", func(o client.Object) {
			slices.Reverse(o.(*appsv1.Deployment).Spec.Template.Spec.Containers)
		}, func(raw map[string]any) { slices.Reverse(containersOf(raw)) }}
	},
}

var configMapEdits = []narrowEdits{
	func(_ *rand.Rand, _ client.Object) *narrowEdit {
		return &narrowEdit{"data", func(o client.Object) {
			data := maps.Clone(o.(*corev1.ConfigMap).Data)
			data["ours"] = "1.0"
			o.(*corev1.ConfigMap).Data = data
		}, func(raw map[string]any) { below(raw, "data")["ours"] = "1.0" }}
	},
	func(_ *rand.Rand, _ client.Object) *narrowEdit {
		return &narrowEdit{"binary data", func(o client.Object) {
			o.(*corev1.ConfigMap).BinaryData = map[string][]byte{"ours.bin": {1, 2}}
		}, func(raw map[string]any) { below(raw, "binaryData")["ours.bin"] = "AQI=" }}
	},
}
