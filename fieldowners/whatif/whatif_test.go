package whatif_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners/whatif"
)

const live = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  managedFields:
  - {manager: rival, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}
data: {a: theirs, b: nobody's}
`

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// ExampleApply_To computes the conflicts of an apply, and then the result of an apply without the field in conflict.
func ExampleApply_To() {
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(live), &content); err != nil {
		panic(err)
	}
	data := map[string]any{"a": "ours", "c": "new"}
	apply := whatif.Apply{FieldManager: "us", Config: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "web"}, "data": data,
	}}
	schemas := managedfields.NewDeducedTypeConverter() // for a real object: those of the API server, see apply.SteadyState.Schemas
	_, conflicts, err := apply.To(&unstructured.Unstructured{Object: content}, schemas)
	fmt.Println(conflicts, err)
	delete(data, "a")
	after, conflicts, err := apply.To(&unstructured.Unstructured{Object: content}, schemas)
	fmt.Println(after.Object["data"], conflicts, err)
	for _, entry := range after.GetManagedFields() {
		fmt.Println(entry.Manager, entry.FieldsV1)
	}
	// Output:
	// [{FieldManagerConflict conflict with "rival" .data.a}] <nil>
	// map[a:theirs b:nobody's c:new] [] <nil>
	// rival {"f:data":{"f:a":{}}}
	// us {"f:data":{".":{},"f:c":{}}}
}

// TestNotKnown: where the API server may do something else, there is no result.
func TestNotKnown(t *testing.T) {
	for name, test := range map[string]struct {
		live, config, subresource, want string
	}{
		"another version":               {live, "{apiVersion: v2, kind: ConfigMap}", "", "the object was read as v1"},
		"an owner of another version":   {strings.Replace(live, "apiVersion: v1, fields", "apiVersion: v0, fields", 1), "{apiVersion: v1}", "", "rival owns fields in version v0"},
		"no managed fields":             {"{apiVersion: v1, kind: ConfigMap}", "{apiVersion: v1}", "", "no managed fields"},
		"managed fields in ruins":       {strings.Replace(live, `"f:data"`, `"data"`, 1), "{apiVersion: v1, kind: ConfigMap}", "", "decode managed fields"},
		"a status of the object":        {live, "{apiVersion: v1, kind: ConfigMap, status: {a: b}}", "", "sets a status, which the API server may drop"},
		"a field beside the status":     {live, "{apiVersion: v1, kind: ConfigMap, data: {a: b}}", "status", "may drop the field data"},
		"a label beside the status":     {live, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web, labels: {a: b}}, status: {}}", "status", "may drop the field metadata.labels"},
		"a subresource of another kind": {live, "{apiVersion: v1, kind: ConfigMap}", "scale", "subresource scale"},
	} {
		t.Run(name, func(t *testing.T) {
			apply := whatif.Apply{FieldManager: "us", Subresource: test.subresource, Config: object(t, test.config).Object}
			after, conflicts, err := apply.To(object(t, test.live), managedfields.NewDeducedTypeConverter())
			if after != nil || conflicts != nil || err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, %v, %v; want an error about %q", after, conflicts, err, test.want)
			}
		})
	}
}

// TestStatusByKubectl: where an object has the annotation of kubectl's last configuration, kubectl sets the annotation also
// when it applies a status. Whether the API server then keeps the annotation depends on the kind.
func TestStatusByKubectl(t *testing.T) {
	annotated := strings.Replace(live, "name: web", `name: web
  annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}`, 1)
	config := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, status: {a: b}}").Object
	for manager, known := range map[string]bool{"kubectl": false, "us": true} {
		_, _, err := whatif.Apply{FieldManager: manager, Subresource: "status", Config: config}.To(object(t, annotated), managedfields.NewDeducedTypeConverter())
		if known != (err == nil) {
			t.Errorf("%s: %v", manager, err)
		}
	}
}

// TestNothingChanges: an apply that changes nothing returns the object as it is.
func TestNothingChanges(t *testing.T) {
	before := object(t, strings.Replace(live, "rival", "us", 1))
	config := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: theirs}}").Object
	after, conflicts, err := whatif.Apply{FieldManager: "us", Config: config}.To(before, managedfields.NewDeducedTypeConverter())
	if err != nil || conflicts != nil || after == nil || fmt.Sprint(after.Object["data"]) != fmt.Sprint(before.Object["data"]) {
		t.Errorf("%v, %v, %v", after, conflicts, err)
	}
}
