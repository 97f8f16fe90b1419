package workloads

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
	"coapply.dev/platform/api/v1alpha1"
)

// devboxStatus is a workload in which each of four reconcilers writes its part of the status of a Devbox.
func devboxStatus() compare.Workload {
	return compare.Workload{
		Name: "devbox-status",
		Summary: "the status of a Devbox, written by four reconcilers: phase, lastContainerStatus, contentID, network; " +
			"each write contains all fields of its reconciler",
		Defaults: compare.Parameters{
			Writers: 4, Objects: 1, Managers: len(statusParts), Warmup: 500 * time.Millisecond, Duration: 2500 * time.Millisecond,
		},
		Fixed:   []string{"managers"},
		Local:   true,
		Arms:    []string{"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "gmu-lanes", "gmu-replace", "patch-lock", "update", "ssa", "ssa-lanes", "apply"},
		Prepare: prepareDevbox,
	}
}

// statusPart is the part of the status that one reconciler writes.
type statusPart struct {
	key string
	// value returns the value of the key, with the number n in it. n is unique within the trial.
	value func(n int) any
	// path is the path of the tracked field, which contains n. The CRD permits any text as a phase.
	path []string
}

var statusParts = []statusPart{
	{"phase", func(n int) any { return "Running-" + strconv.Itoa(n) }, []string{"status", "phase"}},
	{"lastContainerStatus", lastContainerStatus, []string{"status", "lastContainerStatus", "containerID"}},
	{"contentID", func(n int) any { return "content-" + strconv.Itoa(n) }, []string{"status", "contentID"}},
	{"network", func(n int) any {
		return map[string]any{"type": string(v1alpha1.NetworkNodePort), "nodePort": int64(n)}
	}, []string{"status", "network", "nodePort"}},
}

func lastContainerStatus(n int) any {
	return map[string]any{
		"name": "devbox", "image": "devbox:1", "imageID": "docker.io/library/devbox@sha256:1",
		"containerID": "containerd://" + strconv.Itoa(n), "ready": false, "restartCount": int64(1),
		"state": map[string]any{"terminated": map[string]any{"exitCode": int64(0), "reason": "Completed"}},
	}
}

// read adds the tracked field and its value to fields, if the object has the field.
func (p statusPart) read(object map[string]any, fields map[string]string) {
	if value, found, _ := unstructured.NestedFieldNoCopy(object, p.path...); found {
		fields[strings.Join(p.path, ".")] = fmt.Sprint(value)
	}
}

type devboxes struct{ objects }

func prepareDevbox(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := devboxes{newObjects(stage, v1alpha1.SchemeGroupVersion.WithKind("Devbox"), "devboxes")}
	r.stage.Managers = len(statusParts)
	spec := func() map[string]any { return map[string]any{"spec": map[string]any{"image": "devbox:1"}} }
	return r, r.prepare(ctx, spec, func(ctx context.Context, name string) error {
		for j, part := range statusParts {
			status := map[string]any{"status": map[string]any{part.key: part.value(0)}}
			if err := own(ctx, r.stage, r.kind, name, "status", managerName(j), status); err != nil {
				return err
			}
		}
		return nil
	})
}

// Next returns an intent that sets the writer's part of the status. The numbers begin with 1, because 0 is the
// value at the start.
func (r devboxes) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	part := statusParts[r.manager(writer)]
	value := part.value(1 + sequence*r.stage.Writers + writer)

	intent := r.intent(writer, sequence)
	intent.Subresource = "status"
	intent.Modify = func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedField(object.Object, value, "status", part.key)
	}
	intent.Configure = configured(intent.Modify)
	intent.Replace = func(object *unstructured.Unstructured) error {
		return unstructured.SetNestedMap(object.Object, map[string]any{part.key: value}, "status")
	}
	intent.Wants = map[string]string{}
	part.read(intent.Configure(nil), intent.Wants)
	return intent, true, nil
}

// Fields implements compare.Run.
func (r devboxes) Fields(object *unstructured.Unstructured) map[string]string {
	if !r.mine(object) {
		return nil
	}
	fields := map[string]string{}
	for _, part := range statusParts {
		part.read(object.Object, fields)
	}
	return fields
}
