package workloads

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// contestedField is a workload with ownership conflicts: all field managers want another value for the same field.
func contestedField() compare.Workload {
	return compare.Workload{
		Name: "contested-field",
		Summary: "one ConfigMap with a key of each manager, and a key that all managers set to their own names; the first manager owns " +
			"this key before the trial, and first_owner_keeps says whether the key has its value at the end",
		Demonstration: true, // the arm decides what becomes of the conflicts
		Defaults: compare.Parameters{
			Writers: 4, Objects: 1, Managers: 4, Warmup: 300 * time.Millisecond, Duration: 1500 * time.Millisecond,
		},
		Fixed:   []string{"objects"},
		Arms:    []string{"gmu-requeue", "ssa", "ssa-force", "apply", "apply-force", "apply-relinquish"},
		Prepare: prepareContestedField,
	}
}

const contestedKey = "contested"

type contested struct{ configMaps }

func prepareContestedField(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	r := contested{newConfigMaps(stage)}
	return r, r.prepare(ctx, func(j int) map[string]any {
		keys := map[string]any{managerName(j): "start"}
		if j == 0 {
			keys[contestedKey] = managerName(j)
		}
		return keys
	})
}

// Next returns an intent that sets the key of the writer's manager, and the contested key. Only the first of these keys is
// tracked, because a manager may give up the other one.
func (r contested) Next(_ context.Context, writer, sequence int) (compare.Intent, bool, error) {
	manager, value := managerName(r.manager(writer)), uniqueValue(writer, sequence)
	intent := setData(r.intent(writer, sequence), map[string]string{manager: value, contestedKey: manager})
	delete(intent.Wants, dataField(contestedKey))
	return intent, true, nil
}

// Fields implements compare.Run.
func (r contested) Fields(object *unstructured.Unstructured) map[string]string {
	fields := r.configMaps.Fields(object)
	delete(fields, dataField(contestedKey))
	return fields
}

// Finish returns whether the contested key has the value of its first owner.
func (r contested) Finish(ctx context.Context) (map[string]float64, error) {
	object := build(r.stage, r.kind, r.name(0), nil)
	if err := r.stage.Admin.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return nil, err
	}
	value, _, err := unstructured.NestedString(object.Object, "data", contestedKey)
	keeps := map[string]float64{"first_owner_keeps": 0}
	if value == managerName(0) {
		keeps["first_owner_keeps"] = 1
	}
	return keeps, err
}
