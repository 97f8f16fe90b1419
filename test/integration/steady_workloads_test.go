package integration

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	batchv1ac "k8s.io/client-go/applyconfigurations/batch/v1"
)

var (
	steadyCPU    = oneOf("1", "1000m", "2", "500m", "0.5")
	steadyMemory = oneOf("1Gi", "1024Mi", "2Gi")
	steadyWords  = oneOf("one", "two")

	// steadyPod is a pod template; base has both containers and the volume.
	steadyPod = objectOf(map[string]*modelShape{
		"metadata": objectOf(map[string]*modelShape{
			"labels":      mapOf(steadyWords, "tier", "a.b/c"),
			"annotations": mapOf(words, "plain", "x.y/z"),
		}),
		"spec": objectOf(map[string]*modelShape{
			"nodeSelector":                  oneOf(atomicMap("disk", "ssd"), atomicMap("disk", "hdd", "zone", "a")),
			"tolerations":                   oneOf([]any{map[string]any{"key": "a", "operator": "Exists"}}, []any{map[string]any{"key": "b"}, map[string]any{"key": "a", "value": "x"}}),
			"terminationGracePeriodSeconds": oneOf(int64(30), int64(10)),
			"containers":                    steadyContainers(),
			"volumes":                       listOf(map[string]*modelShape{"name": oneOf("scratch"), "emptyDir": oneOf(map[string]any{}, map[string]any{"sizeLimit": "1Gi"}, map[string]any{"sizeLimit": "1024Mi"})}, "name"),
		}),
	})
)

func steadyContainers() *modelShape {
	return listOf(map[string]*modelShape{
		"name":    oneOf("side", "web"),
		"image":   oneOf("i:1", "i:2"),
		"args":    oneOf([]any{"-a"}, []any{"-b", "-a"}),
		"command": oneOf([]any{"run"}),
		"env":     listOf(map[string]*modelShape{"name": oneOf("HOME", "P.ATH"), "value": words}, "name"),
		"ports": withDefaults(listOf(map[string]*modelShape{
			"containerPort": oneOf(int64(80), int64(443)), "protocol": oneOf("TCP", "UDP"), "hostIP": oneOf("10.0.0.1", "10.0.0.2"),
		}, "containerPort", "protocol"), map[string]any{"protocol": "TCP"}),
		"resources": objectOf(map[string]*modelShape{
			"limits":   objectOf(map[string]*modelShape{"cpu": steadyCPU, "memory": steadyMemory}),
			"requests": objectOf(map[string]*modelShape{"cpu": oneOf("100m", "0.1"), "memory": oneOf("64Mi", "65536Ki")}),
		}),
		"readinessProbe": objectOf(map[string]*modelShape{
			"tcpSocket":     objectOf(map[string]*modelShape{"port": oneOf(int64(80), "http")}),
			"periodSeconds": oneOf(int64(10), int64(5)),
		}),
		"volumeMounts": listOf(map[string]*modelShape{"mountPath": oneOf("/scratch"), "name": oneOf("scratch"), "readOnly": oneOf(true, false)}, "mountPath"),
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

var steadyWorkloadStatus = objectOf(map[string]*modelShape{"observedGeneration": counts, "replicas": counts})

func deploymentOfSteady() steadyKind {
	return steadyKind{
		scale: true,
		base:  "spec:\n  selector: {matchLabels: {app: x}}\n  template:" + steadyPodBase,
		forms: []steadyForm{{
			GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			typed:            func() runtime.ApplyConfiguration { return &appsv1ac.DeploymentApplyConfiguration{} },
			lacks:            []string{"minReadySeconds", "tolerations", "hostIP", "value", "readinessProbe", "resources"},
			shape: steadyShape(map[string]*modelShape{
				"spec": objectOf(map[string]*modelShape{
					"replicas":        counts,
					"minReadySeconds": oneOf(int64(0), int64(5)),
					"paused":          oneOf(true, false),
					"selector":        oneOf(map[string]any{"matchLabels": map[string]any{"app": "x"}}),
					"strategy": objectOf(map[string]*modelShape{"rollingUpdate": objectOf(map[string]*modelShape{
						"maxSurge": oneOf(int64(1), "25%"), "maxUnavailable": oneOf(int64(1), "25%")})}),
					"template": steadyPod,
				}),
				"status": objectOf(map[string]*modelShape{
					"observedGeneration": counts, "replicas": counts,
					"conditions": steadyConditions("Available", "Progressing"),
				}),
			}),
		}},
	}
}

func steadyConditions(types ...any) *modelShape {
	return listOf(map[string]*modelShape{
		"type": oneOf(types...), "status": oneOf("True", "False"), "reason": oneOf("One", "Two"), "message": words,
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
			shape: steadyShape(map[string]*modelShape{
				"spec": objectOf(map[string]*modelShape{
					"replicas":       counts,
					"updateStrategy": objectOf(map[string]*modelShape{"rollingUpdate": objectOf(map[string]*modelShape{"partition": counts})}),
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
			shape: steadyShape(map[string]*modelShape{
				"spec": objectOf(map[string]*modelShape{
					"suspend":           oneOf(true, false),
					"concurrencyPolicy": oneOf("Allow", "Forbid"),
					"jobTemplate": objectOf(map[string]*modelShape{"spec": objectOf(map[string]*modelShape{
						"backoffLimit": counts, "template": steadyPod})}),
				}),
			}),
		}},
	}
}
