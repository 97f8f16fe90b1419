package predict_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners/predict"
)

// hostile makes objects and managed fields that have little to do with each other:
// fields are maps here, lists or scalars there, items have no names or the same.
type hostile struct{ *rand.Rand }

func (h hostile) value(depth int) any {
	switch n := h.IntN(9); {
	case depth > 5 || n < 2:
		return []any{nil, "x", "y", int64(1), 1.5, true, map[string]any{}, []any{}}[h.IntN(8)]
	case n < 6:
		fields := map[string]any{}
		for range h.IntN(4) {
			fields[h.name()] = h.value(depth + 1)
		}
		return fields
	}
	items := []any{}
	for range h.IntN(4) {
		items = append(items, h.value(depth+1))
	}
	return items
}

func (h hostile) name() string {
	return []string{"a", "b", "k", "metadata", "spec", "", "labels"}[h.IntN(7)]
}

// fields is a set as the API server writes one.
func (h hostile) fields(depth int) string {
	seen, parts := map[string]bool{}, []string{}
	for range 1 + h.IntN(3) {
		key := []string{
			"f:" + h.name(), "f:" + h.name(), "f:" + h.name(), `v:\"x\"`, "v:1", `k:{\"k\":\"x\"}`, `k:{\"k\":1}`, `k:{\"a\":true,\"k\":\"y\"}`, "i:0",
		}[h.IntN(9)]
		if seen[key] {
			continue
		}
		seen[key] = true
		below := "{}"
		if depth < 5 && h.IntN(3) > 0 {
			below = h.fields(depth + 1)
			if h.IntN(2) == 0 {
				below = `{".":{},` + below[1:]
			}
		}
		parts = append(parts, `"`+key+`":`+below)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (h hostile) object() map[string]any {
	object := map[string]any{}
	for range 1 + h.IntN(3) {
		object[h.name()] = h.value(0)
	}
	object["apiVersion"], object["kind"] = "v1", "ConfigMap"
	if metadata, isMap := object["metadata"].(map[string]any); isMap {
		delete(metadata, "managedFields")
	} else {
		delete(object, "metadata")
	}
	return object
}

// TestHostile: there is an error or a prediction, the same each time, in
// which nothing is said of what is doubted.
func TestHostile(t *testing.T) {
	h := hostile{rand.New(rand.NewPCG(1, 2))}
	told := 0
	for range 1500 {
		live, intent := h.object(), h.object()
		if h.IntN(3) == 0 {
			intent = live
		}
		var list []any
		for _, who := range []string{"us/Apply", "us/Update", "other/Apply", "another/Update"} {
			if h.IntN(3) > 0 {
				continue
			}
			name, operation, _ := strings.Cut(who, "/")
			list = append(list, map[string]any{
				"manager": name, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
				"fieldsV1": metav1.NewFieldsV1(h.fields(0)),
			})
		}
		live = withManaged(live, list)
		first, err := predict.Apply(live, intent, "us", "")
		second, _ := predict.Apply(live, intent, "us", "")
		if first.String() != second.String() {
			t.Fatalf("two predictions of one thing:\n%v\n%v", first, second)
		}
		if err == nil {
			told++
		}
		for _, doubt := range first.Unsure {
			for _, c := range first.Conflicts {
				if c.Path.HasPrefix(doubt.Path) {
					t.Fatalf("%v, and %v", doubt, c)
				}
			}
			for _, c := range first.Changes {
				if c.Path.HasPrefix(doubt.Path) {
					t.Fatalf("%v, and %v", doubt, c)
				}
			}
		}
	}
	t.Log(told, "predictions")
	if told < 500 {
		t.Errorf("%d predictions prove too little", told)
	}
}

// withManaged returns a copy of an object with managed fields.
func withManaged(object map[string]any, list []any) map[string]any {
	copied := maps.Clone(object)
	metadata := map[string]any{}
	if given, isMap := copied["metadata"].(map[string]any); isMap {
		maps.Copy(metadata, given)
	}
	metadata["managedFields"], copied["metadata"] = list, metadata
	return copied
}

// TestWorkIsLinear: twice as much to do is no more than some twice the work, counted in
// what is allocated: also of managers in another version, and changes.
func TestWorkIsLinear(t *testing.T) {
	run := func(n int) func() {
		live, intent := manyOwned(n)
		return func() { _, _ = predict.Apply(live, intent, "us", "") }
	}
	once, twice := testing.AllocsPerRun(1, run(200)), testing.AllocsPerRun(1, run(400))
	if twice > 3*once {
		t.Errorf("%.0f allocations, and %.0f for twice as many", once, twice)
	}
}

// manyOwned returns a live object with many managers of another version, and an intent
// with many new fields.
func manyOwned(n int) (live, intent map[string]any) {
	data := map[string]any{}
	var managers []any
	for i := range n {
		data[fmt.Sprint("k", i)] = "v"
		managers = append(managers, map[string]any{
			"manager": fmt.Sprint("m", i), "operation": "Update", "apiVersion": "v2", "fieldsType": "FieldsV1",
			"fieldsV1": map[string]any{"f:data": map[string]any{"f:a": map[string]any{}}},
		})
	}
	live = withManaged(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "x"}}, managers)
	return live, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": data}
}
