package fieldowners

import (
	"testing"
)

func TestPredictSmoke(t *testing.T) {
	live := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a",
		"managedFields": []any{
			map[string]any{"manager": "hpa", "operation": "Update", "apiVersion": "apps/v1", "subresource": "scale", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:replicas": map[string]any{}}}},
			map[string]any{"manager": "us", "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:paused": map[string]any{}}}},
		}},
		"spec": map[string]any{"replicas": int64(5), "paused": true, "selector": map[string]any{"a": "b"}}}
	intent := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a", "labels": map[string]any{"x": "y"}},
		"spec": map[string]any{"replicas": int64(3), "selector": map[string]any{"a": "c", "d": "e"}}}
	p, err := Predict(live, intent, "us", "")
	t.Logf("%v\n%v", err, p)
}
