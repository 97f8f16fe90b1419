package steady

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	autoscalingv2ac "k8s.io/client-go/applyconfigurations/autoscaling/v2"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	platformv1alpha1ac "coapply.dev/platform/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"coapply.dev/test/kit/model"
)

// steadyForm is a kind in one of its versions: what managers write of it, and the
// type of a typed intent where there is one.
type steadyForm struct {
	schema.GroupVersionKind

	shape *model.Shape
	typed func() runtime.ApplyConfiguration
	lacks []string // names of fields that a Go type which it is read as has not, or not the whole of
}

// steadyKind is a kind of object that the steady-state check is asked about.
type steadyKind struct {
	forms   []steadyForm // one a version
	base    string       // YAML in the first version: what makes the object valid
	cluster bool         // not in a namespace
	scale   bool         // has the subresource
	lingers bool         // is still there for a while when it is deleted
}

func oneOf(samples ...any) *model.Shape { return &model.Shape{Samples: samples} }

func mapOf(elem *model.Shape, names ...string) *model.Shape {
	return &model.Shape{Kind: model.MapShape, Elem: elem, Names: names, Vanishes: true}
}

// listOf takes the keys in alphabetical order.
func listOf(fields map[string]*model.Shape, keys ...string) *model.Shape {
	return &model.Shape{Kind: model.ListShape, Keys: keys, Elem: model.ObjectOf(fields)}
}

func withDefaults(list *model.Shape, defaults map[string]any) *model.Shape {
	list.Elem.Defaults = defaults
	return list
}

func atomicMap(pairs ...string) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// oneText is another text of the same value, as the Go type of a builtin kind has it.
var oneText = map[string]string{
	"1": "1000m", "1000m": "1", "500m": "0.5", "0.5": "500m", "100m": "0.1", "0.1": "100m",
	"1Gi": "1024Mi", "1024Mi": "1Gi", "64Mi": "65536Ki", "65536Ki": "64Mi", "4": "4000m", "4000m": "4",
}

// steadyKinds are in the order in which objects are made.
var steadyKinds = []steadyKind{
	deploymentOfSteady(), sampleOfSteady(), serviceOfSteady(), hpaOfSteady(), sampleOfSteady(), evictionOfSteady(),
	configMapOfSteady(), nodeOfSteady(), statefulSetOfSteady(), devboxOfSteady(), cronJobOfSteady(), evictionOfSteady(),
}

func steadyShape(fields map[string]*model.Shape) *model.Shape {
	fields = maps.Clone(fields)
	fields["metadata"] = model.MetadataShape
	return model.ObjectOf(fields)
}

func serviceOfSteady() steadyKind {
	return steadyKind{
		base: `
spec:
  ports:
  - {port: 80, protocol: TCP, name: a}
  - {port: 80, protocol: UDP, name: b}
  - {port: 443, protocol: TCP, name: c}
  - {port: 443, protocol: UDP, name: d}`,
		forms: []steadyForm{{
			GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"},
			typed:            func() runtime.ApplyConfiguration { return &corev1ac.ServiceApplyConfiguration{} },
			shape: steadyShape(map[string]*model.Shape{"spec": model.ObjectOf(map[string]*model.Shape{
				"selector":        oneOf(atomicMap("a", "one"), atomicMap("a", "two", "b.c", "x")),
				"sessionAffinity": oneOf("ClientIP", "None"),
				"externalIPs":     oneOf([]any{"10.1.0.1"}, []any{"10.1.0.2", "10.1.0.1"}),
				"ports": withDefaults(listOf(map[string]*model.Shape{
					"port": oneOf(int64(80), int64(443)), "protocol": oneOf("TCP", "UDP"),
					"targetPort": oneOf(int64(8080), "http"), "appProtocol": oneOf("h2c", "ws"),
				}, "port", "protocol"), map[string]any{"protocol": "TCP"}),
			})}),
		}},
	}
}

func configMapOfSteady() steadyKind {
	return steadyKind{base: "data: {base: x}", forms: []steadyForm{{
		GroupVersionKind: model.ConfigMapKind.GroupVersionKind, shape: model.ConfigMapKind.Shape,
		typed: func() runtime.ApplyConfiguration { return &corev1ac.ConfigMapApplyConfiguration{} },
	}}}
}

func hpaOfSteady() steadyKind {
	target := oneOf(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "y"})
	minimum, maximum := oneOf(int64(1), int64(2)), oneOf(int64(5), int64(6))
	metric := func(value string) any {
		return map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu", "target": map[string]any{"type": "AverageValue", "averageValue": value}}}
	}
	return steadyKind{
		base: "spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}",
		forms: []steadyForm{{
			GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
			typed:            func() runtime.ApplyConfiguration { return &autoscalingv2ac.HorizontalPodAutoscalerApplyConfiguration{} },
			shape: steadyShape(map[string]*model.Shape{"spec": model.ObjectOf(map[string]*model.Shape{
				"scaleTargetRef": target, "minReplicas": minimum, "maxReplicas": maximum,
				"metrics": oneOf([]any{metric("500m")}, []any{metric("0.5")}, []any{metric("1")}),
				"behavior": model.ObjectOf( //nolint:misspell // the API's
					map[string]*model.Shape{"scaleDown": model.ObjectOf(map[string]*model.Shape{"stabilizationWindowSeconds": oneOf(int64(300), int64(60))})}),
			})}),
		}, {
			GroupVersionKind: schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "HorizontalPodAutoscaler"},
			typed:            func() runtime.ApplyConfiguration { return &autoscalingv1ac.HorizontalPodAutoscalerApplyConfiguration{} },
			shape: steadyShape(map[string]*model.Shape{"spec": model.ObjectOf(map[string]*model.Shape{
				"scaleTargetRef": target, "minReplicas": minimum, "maxReplicas": maximum,
				"targetCPUUtilizationPercentage": oneOf(int64(50), int64(80)),
			})}),
		}},
	}
}

func nodeOfSteady() steadyKind {
	return steadyKind{cluster: true, base: "spec: {providerID: x}", forms: []steadyForm{{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"},
		typed:            func() runtime.ApplyConfiguration { return &corev1ac.NodeApplyConfiguration{} },
		shape: steadyShape(map[string]*model.Shape{
			"spec": model.ObjectOf(map[string]*model.Shape{
				"unschedulable": oneOf(true, false),
				"taints":        oneOf([]any{map[string]any{"key": "a", "effect": "NoSchedule"}}, []any{map[string]any{"key": "b", "effect": "NoExecute", "value": "x"}}),
			}),
			"status": model.ObjectOf(map[string]*model.Shape{
				"capacity":   model.ObjectOf(map[string]*model.Shape{"cpu": oneOf("4", "4000m", "8"), "memory": steadyMemory, "example.com/gpu": oneOf("1", "4")}),
				"conditions": steadyConditions("Ready", "Odd"),
				"addresses":  listOf(map[string]*model.Shape{"type": oneOf("InternalIP", "Hostname"), "address": oneOf("10.0.0.1", "10.0.0.2")}, "type"),
			}),
		}),
	}}}
}

func devboxOfSteady() steadyKind {
	return steadyKind{base: "spec: {image: nginx}", forms: []steadyForm{{
		GroupVersionKind: schema.GroupVersionKind{Group: "platform.coapply.dev", Version: "v1alpha1", Kind: "Devbox"},
		typed:            func() runtime.ApplyConfiguration { return &platformv1alpha1ac.DevboxApplyConfiguration{} },
		shape: steadyShape(map[string]*model.Shape{
			"spec": model.ObjectOf(map[string]*model.Shape{
				"state":     oneOf("Running", "Stopped"),
				"network":   model.ObjectOf(map[string]*model.Shape{"type": oneOf("ClusterIP", "None"), "port": oneOf(int64(22), int64(80))}),
				"resources": model.ObjectOf(map[string]*model.Shape{"limits": model.ObjectOf(map[string]*model.Shape{"cpu": steadyCPU, "memory": steadyMemory})}),
			}),
			"status": model.ObjectOf(map[string]*model.Shape{
				"phase": oneOf("Running", "Stopped"), "contentID": model.Words,
				"conditions": oneOf(wholeCondition("WorkloadApplied", "True"), wholeCondition("WorkloadApplied", "False"), wholeCondition("PowerApplied", "True")),
			}),
		}),
	}}}
}

// wholeCondition is what the schema asks of a condition.
func wholeCondition(name, status string) []any {
	return []any{map[string]any{"type": name, "status": status, "reason": "One", "message": "one", "lastTransitionTime": "2026-01-02T03:04:05Z"}}
}
