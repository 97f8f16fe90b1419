package workloads

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/compare"
)

// increment is a workload for which Server-Side Apply is not suited: the wanted value depends on the current value.
func increment() compare.Workload {
	return compare.Workload{
		Name: "increment",
		Summary: "one counter that every intent increases by one: Server-Side Apply sends a value computed from an earlier read, " +
			"and loses increments without any 409, unless it also sends the resourceVersion",
		Defaults: compare.Parameters{
			Writers: 8, Objects: 1, Managers: 1, Warmup: 500 * time.Millisecond, Duration: 2500 * time.Millisecond,
		},
		Fixed:   []string{"managers"},
		Arms:    []string{"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "gmu-lanes", "patch-lock", "update", "ssa", "ssa-lanes", "apply"},
		Prepare: prepareIncrement,
	}
}

const counterKey = "counter"

type counters struct{ configMaps }

// prepareIncrement uses a single field manager for all writers. With several managers, only one could own the
// counter, and the API server would reject the applies of the other managers with a conflict.
func prepareIncrement(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	stage.Managers = 1
	r := counters{newConfigMaps(stage)}
	return r, r.prepare(ctx, func(int) map[string]any { return map[string]any{counterKey: "0"} })
}

// Next returns an intent that increases the counter by one.
func (r counters) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	intent := r.intent(writer, sequence)
	intent.Increments, intent.ReadsLive = dataField(counterKey), true
	intent.Modify = func(object *unstructured.Unstructured) error {
		next, err := incremented(object)
		if err != nil {
			return err
		}
		return unstructured.SetNestedField(object.Object, next, "data", counterKey)
	}
	intent.Configure = func(live *unstructured.Unstructured) map[string]any {
		next, err := incremented(live)
		if err != nil {
			next = err.Error() // Configure cannot return an error, so make the counter an invalid number
		}
		return map[string]any{"data": map[string]any{counterKey: next}}
	}
	return intent, true, nil
}

func incremented(object *unstructured.Unstructured) (string, error) {
	text, _, err := unstructured.NestedString(object.Object, "data", counterKey)
	if err != nil {
		return "", err
	}
	counter, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("ConfigMap %s: the value of its counter is not a number: %w", object.GetName(), err)
	}
	return strconv.Itoa(counter + 1), nil
}
