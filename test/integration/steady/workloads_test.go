package steady

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"

	"coapply.dev/test/kit/model"
)

var (
	steadyCPU    = oneOf("1", "1000m", "2", "500m", "0.5")
	steadyMemory = oneOf("1Gi", "1024Mi", "2Gi")
	steadyWords  = oneOf("one", "two")

	// steadyPod is a pod template; base has both containers and the volume.
	steadyPod = model.ObjectOf(map[string]*model.Shape{
		"metadata": model.ObjectOf(map[string]*model.Shape{
			"labels":      mapOf(steadyWords, "tier", "a.b/c"),
			"annotations": mapOf(model.Words, "plain", "x.y/z"),
		}),
		"spec": model.ObjectOf(map[string]*model.Shape{
			"nodeSelector":                  oneOf(atomicMap("disk", "ssd"), atomicMap("disk", "hdd", "zone", "a")),
			"tolerations":                   oneOf([]any{map[string]any{"key": "a", "operator": "Exists"}}, []any{map[string]any{"key": "b"}, map[string]any{"key": "a", "value": "x"}}),
			"terminationGracePeriodSeconds": oneOf(int64(30), int64(10)),
			"containers":                    steadyContainers(),
			"volumes":                       listOf(map[string]*model.Shape{"name": oneOf("scratch"), "emptyDir": oneOf(map[string]any{}, map[string]any{"sizeLimit": "1Gi"}, map[string]any{"sizeLimit": "1024Mi"})}, "name"),
		}),
	})
)

func steadyContainers() *model.Shape {
	return listOf(map[string]*model.Shape{
		"name":    oneOf("side", "web"),
		"image":   oneOf("i:1", "i:2"),
		"args":    oneOf([]any{"-a"}, []any{"-b", "-a"}),
		"command": oneOf([]any{"run"}),
		"env":     listOf(map[string]*model.Shape{"name": oneOf("HOME", "P.ATH"), "value": model.Words}, "name"),
		"ports": withDefaults(listOf(map[string]*model.Shape{
			"containerPort": oneOf(int64(80), int64(443)), "protocol": oneOf("TCP", "UDP"), "hostIP": oneOf("10.0.0.1", "10.0.0.2"),
		}, "containerPort", "protocol"), map[string]any{"protocol": "TCP"}),
		"resources": model.ObjectOf(map[string]*model.Shape{
			"limits":   model.ObjectOf(map[string]*model.Shape{"cpu": steadyCPU, "memory": steadyMemory}),
			"requests": model.ObjectOf(map[string]*model.Shape{"cpu": oneOf("100m", "0.1"), "memory": oneOf("64Mi", "65536Ki")}),
		}),
		"readinessProbe": model.ObjectOf(map[string]*model.Shape{
			"tcpSocket":     model.ObjectOf(map[string]*model.Shape{"port": oneOf(int64(80), "http")}),
			"periodSeconds": oneOf(int64(10), int64(5)),
		}),
		"volumeMounts": listOf(map[string]*model.Shape{"mountPath": oneOf("/scratch"), "name": oneOf("scratch"), "readOnly": oneOf(true, false)}, "mountPath"),
	}, "name")
}

const steadyPodBase = `
    metadata: {labels: {app: x}}
    spec:
      containers:
      - {name: web, image: "i:0"}
      - {name: side, image: "i:0"}
      volumes: [{name: scratch, emptyDir: {}}]
`

var steadyWorkloadStatus = model.ObjectOf(map[string]*model.Shape{"observedGeneration": model.Counts, "replicas": model.Counts})

func deploymentOfSteady() steadyKind {
	return steadyKind{
		scale: true,
		base:  "spec:\n  selector: {matchLabels: {app: x}}\n  template:" + steadyPodBase,
		forms: []steadyForm{{
			GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			typed:            func() runtime.ApplyConfiguration { return &appsv1ac.DeploymentApplyConfiguration{} },
			lacks:            []string{"minReadySeconds", "tolerations", "hostIP", "value", "readinessProbe", "resources"},
			shape: steadyShape(map[string]*model.Shape{
				"spec": model.ObjectOf(map[string]*model.Shape{
					"replicas":        model.Counts,
					"minReadySeconds": oneOf(int64(0), int64(5)),
					"paused":          oneOf(true, false),
					"selector":        oneOf(map[string]any{"matchLabels": map[string]any{"app": "x"}}),
					"strategy": model.ObjectOf(map[string]*model.Shape{"rollingUpdate": model.ObjectOf(map[string]*model.Shape{
						"maxSurge": oneOf(int64(1), "25%"), "maxUnavailable": oneOf(int64(1), "25%")})}),
					"template": steadyPod,
				}),
				"status": model.ObjectOf(map[string]*model.Shape{
					"observedGeneration": model.Counts, "replicas": model.Counts,
					"conditions": steadyConditions("Available", "Progressing"),
				}),
			}),
		}},
	}
}

func steadyConditions(types ...any) *model.Shape {
	return listOf(map[string]*model.Shape{
		"type": oneOf(types...), "status": oneOf("True", "False"), "reason": oneOf("One", "Two"), "message": model.Words,
		"lastTransitionTime": oneOf("2026-01-02T03:04:05Z"),
	}, "type")
}

func statefulSetOfSteady() steadyKind {
	return steadyKind{
		scale: true,
		base:  "spec:\n  serviceName: x\n  selector: {matchLabels: {app: x}}\n  template:" + steadyPodBase,
		forms: []steadyForm{{
			GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
			typed:            func() runtime.ApplyConfiguration { return &appsv1ac.StatefulSetApplyConfiguration{} },
			shape: steadyShape(map[string]*model.Shape{
				"spec": model.ObjectOf(map[string]*model.Shape{
					"replicas":       model.Counts,
					"updateStrategy": model.ObjectOf(map[string]*model.Shape{"rollingUpdate": model.ObjectOf(map[string]*model.Shape{"partition": model.Counts})}),
					"template":       steadyPod,
				}),
				"status": steadyWorkloadStatus,
			}),
		}},
	}
}

func cronJobOfSteady() steadyKind {
	return steadyKind{
		base: `
spec:
  schedule: "0 0 1 1 *"
  jobTemplate:
    spec:
      template:
        metadata: {labels: {app: x}}
        spec: {restartPolicy: Never, containers: [{name: web, image: "i:0"}, {name: side, image: "i:0"}], volumes: [{name: scratch, emptyDir: {}}]}`,
		forms: []steadyForm{{
			GroupVersionKind: schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"},
			typed:            func() runtime.ApplyConfiguration { return &batchv1ac.CronJobApplyConfiguration{} },
			shape: steadyShape(map[string]*model.Shape{
				"spec": model.ObjectOf(map[string]*model.Shape{
					"suspend":           oneOf(true, false),
					"concurrencyPolicy": oneOf("Allow", "Forbid"),
					"jobTemplate": model.ObjectOf(map[string]*model.Shape{"spec": model.ObjectOf(map[string]*model.Shape{
						"backoffLimit": model.Counts, "template": steadyPod})}),
				}),
			}),
		}},
	}
}
