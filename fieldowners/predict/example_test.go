package predict_test

import (
	"fmt"

	"coapply.dev/fieldowners/predict"
)

func ExampleApply() {
	live := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web",
			"managedFields": []any{
				map[string]any{
					"manager": "hpa", "operation": "Update", "subresource": "scale", "apiVersion": "apps/v1",
					"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}},
				},
				map[string]any{
					"manager": "workload", "operation": "Apply", "apiVersion": "apps/v1",
					"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:paused": map[string]any{}}},
				},
			},
		},
		"spec": map[string]any{"replicas": int64(5), "paused": true},
	}
	intent := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web"},
		"spec":     map[string]any{"replicas": int64(3), "minReadySeconds": int64(10)},
	}
	prediction, err := predict.Apply(live, intent, "workload", "")
	if err != nil {
		panic(err)
	}
	fmt.Print(prediction)
	// Output:
	// conflicts:
	//   .spec.replicas to 3, owned by hpa/Update[scale] with 5
	// changes:
	//   .spec.minReadySeconds: added 10
	// dropped:
	//   .spec.paused goes with its value true
}
