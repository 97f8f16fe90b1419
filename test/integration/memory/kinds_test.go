package memory

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/test/kit/model"
)

// traceKind is a kind whose objects get random requests.
type traceKind struct {
	model.Kind

	scale, cluster bool
	// fill completes a configuration to a valid object. It may be incomplete all the same: then both servers refuse it.
	fill func(content map[string]any)
}

func nothing(map[string]any) {}

var word, number = &model.Shape{Samples: []any{"one", "two"}}, &model.Shape{Samples: []any{int64(1), int64(2), int64(-1)}}

var traceKinds = []traceKind{
	{Kind: model.ConfigMapKind, fill: nothing},
	{Kind: model.SampleKind, fill: nothing},
	{Kind: model.SampleKind, fill: nothing},
	{Kind: model.ShapeKind, scale: true, fill: nothing},
	{Kind: deploymentKind, scale: true, fill: fillDeployment},
	{Kind: deploymentKind, scale: true, fill: fillDeployment},
	{Kind: secretKind, fill: nothing},
	{Kind: serviceKind, fill: func(content map[string]any) {
		within(content, "spec")["ports"] = []any{map[string]any{"port": int64(80)}}
	}},
	{Kind: leaseKind, fill: nothing},
	{Kind: roleKind, fill: nothing},
	{Kind: accountKind, fill: nothing},
	{Kind: namespaceKind, cluster: true, fill: nothing},
}

var secretKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata":   model.MetadataShape,
		"data":       {Kind: model.MapShape, Elem: &model.Shape{Samples: []any{"AAAA", "AQID"}}, Names: []string{"a", "b.c"}},
		"stringData": {Kind: model.MapShape, Elem: word, Names: []string{"a", "d"}},
		"type":       {Samples: []any{"Opaque", "example.com/x"}},
		"immutable":  {Samples: []any{false, false, true}},
	}),
}

var serviceKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata": model.MetadataShape,
		"spec": model.ObjectOf(map[string]*model.Shape{
			"selector": {Samples: []any{map[string]any{"a": "one"}, map[string]any{"a": "two", "b.c": "x"}}},
			"ports": {Kind: model.ListShape, Keys: []string{"port", "protocol"}, Elem: &model.Shape{Kind: model.ObjectShape,
				Defaults: map[string]any{"protocol": "TCP"},
				Fields: map[string]*model.Shape{
					"port": {Samples: []any{int64(80), int64(443)}}, "protocol": {Samples: []any{"TCP", "UDP"}},
					"name": word, "targetPort": {Samples: []any{int64(8080), "http"}},
				}}},
			"publishNotReadyAddresses": {Samples: []any{true, false}},
		}),
		"status": model.ObjectOf(map[string]*model.Shape{
			"loadBalancer": {Samples: []any{map[string]any{}, map[string]any{"ingress": []any{map[string]any{"ip": "10.1.1.1"}}}}},
			"conditions": {Kind: model.ListShape, Keys: []string{"type"}, Elem: model.ObjectOf(map[string]*model.Shape{
				"type": {Samples: []any{"Ready", "Programmed"}}, "status": {Samples: []any{"True", "False"}}, "reason": {Samples: []any{"Done"}}, "message": word,
				"lastTransitionTime": {Samples: []any{"2026-01-02T03:04:05Z"}}})},
		}),
	}),
}

var leaseKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata": model.MetadataShape,
		"spec":     model.ObjectOf(map[string]*model.Shape{"holderIdentity": word, "leaseDurationSeconds": {Samples: []any{int64(1), int64(15)}}}),
	}),
}

var roleKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata": model.MetadataShape,
		"rules": {Samples: []any{
			[]any{map[string]any{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}},
			[]any{map[string]any{"apiGroups": []any{"apps"}, "resources": []any{"deployments"}, "verbs": []any{"get", "list"}}},
		}},
	}),
}

var accountKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata":                     model.MetadataShape,
		"automountServiceAccountToken": {Samples: []any{true, false}},
		"secrets": {Kind: model.ListShape, Keys: []string{"name"}, Elem: model.ObjectOf(map[string]*model.Shape{
			"name": word, "namespace": word})},
		"imagePullSecrets": {Kind: model.ListShape, Keys: []string{"name"}, Elem: model.ObjectOf(map[string]*model.Shape{"name": word})},
	}),
}

// namespaceKind: a namespace that is deleted stays terminating, as no controller removes its finalizer.
var namespaceKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata": model.MetadataShape,
		"spec":     model.ObjectOf(map[string]*model.Shape{"finalizers": {Samples: []any{[]any{"kubernetes"}, []any{"example.com/a"}}}}),
		"status": model.ObjectOf(map[string]*model.Shape{
			"phase": {Samples: []any{"Active", "Terminating"}},
			"conditions": {Kind: model.ListShape, Keys: []string{"type"}, Elem: model.ObjectOf(map[string]*model.Shape{
				"type": {Samples: []any{"NamespaceDeletionContentFailure", "NamespaceContentRemaining"}}, "status": {Samples: []any{"True", "False"}}, "message": word})},
		}),
	}),
}

var containerShape = model.ObjectOf(map[string]*model.Shape{
	"name": {Samples: []any{"web", "db"}}, "image": {Samples: []any{"nginx", "nginx:1", "nginx:latest", "r.io/a/b@sha256:1"}},
	"tty": {Samples: []any{true, false}}, "args": {Samples: []any{[]any{"-a"}, []any{"-b", "-a"}}},
	"env": {Kind: model.ListShape, Keys: []string{"name"}, Elem: model.ObjectOf(map[string]*model.Shape{
		"name": {Samples: []any{"A", "B"}}, "value": word})},
	"ports": {Kind: model.ListShape, Keys: []string{"containerPort", "protocol"}, Elem: &model.Shape{Kind: model.ObjectShape,
		Defaults: map[string]any{"protocol": "TCP"},
		Fields: map[string]*model.Shape{
			"containerPort": {Samples: []any{int64(80), int64(443)}}, "protocol": {Samples: []any{"TCP", "UDP"}},
			"name": {Samples: []any{"one", "two"}},
		}}},
	"resources": model.ObjectOf(map[string]*model.Shape{
		"limits": {Kind: model.MapShape, Elem: &model.Shape{Samples: []any{"1", "1000m", "0.5"}}, Names: []string{"cpu", "memory"}}}),
})

var deploymentKind = model.Kind{
	GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
	Shape: model.ObjectOf(map[string]*model.Shape{
		"metadata": model.MetadataShape,
		"spec": model.ObjectOf(map[string]*model.Shape{
			"replicas": number, "paused": {Samples: []any{true, false}}, "minReadySeconds": {Samples: []any{int64(0), int64(5), int64(700)}},
			"revisionHistoryLimit": {Samples: []any{int64(0), int64(3)}},
			"template": model.ObjectOf(map[string]*model.Shape{
				"metadata": model.ObjectOf(map[string]*model.Shape{"annotations": {Kind: model.MapShape, Elem: word, Names: []string{"a", "b.c/d"}}}),
				"spec": model.ObjectOf(map[string]*model.Shape{
					"containers":   {Kind: model.ListShape, Keys: []string{"name"}, Elem: containerShape},
					"nodeSelector": {Samples: []any{map[string]any{"a": "one"}, map[string]any{"b": "two"}}},
				}),
			}),
		}),
		"status": model.ObjectOf(map[string]*model.Shape{
			"replicas": {Samples: []any{int64(1), int64(2)}}, "observedGeneration": number,
			"updatedReplicas": {Samples: []any{int64(0), int64(1)}}, "readyReplicas": number, "availableReplicas": {Samples: []any{int64(0), int64(1), int64(2)}},
			"terminatingReplicas": {Samples: []any{int64(0), int64(1)}}, "collisionCount": {Samples: []any{int64(1), int64(2)}},
			"conditions": {Kind: model.ListShape, Keys: []string{"type"}, Elem: model.ObjectOf(map[string]*model.Shape{
				"type": {Samples: []any{"Available", "Progressing"}}, "status": {Samples: []any{"True", "False"}}, "message": word})},
		}),
	}),
}

func within(content map[string]any, names ...string) map[string]any {
	for _, name := range names {
		inner, ok := content[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			content[name] = inner
		}
		content = inner
	}
	return content
}

func fillDeployment(content map[string]any) {
	within(content, "spec")["selector"] = map[string]any{"matchLabels": map[string]any{"app": "x"}}
	within(content, "spec", "template", "metadata", "labels")["app"] = "x"
	pod := within(content, "spec", "template", "spec")
	containers, _ := pod["containers"].([]any)
	for _, container := range containers {
		if c, ok := container.(map[string]any); ok && c["image"] == nil {
			c["image"] = "filled"
		}
	}
	if len(containers) == 0 {
		pod["containers"] = []any{map[string]any{"name": "web", "image": "v1"}}
	}
}
