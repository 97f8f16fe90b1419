package transfer

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// TestConfigurationOf takes what ci owns out of objects. That an apply of it restores
// exactly that is tested on the real API server.
func TestConfigurationOf(t *testing.T) {
	const ports = `f:spec: {f:ports: {'k:{"containerPort":80,"protocol":"TCP"}': %s}}`
	for _, test := range []struct {
		reason, ci, other, object, want string
		missing                         []string
	}{
		{
			"fields, but none of others", `f:data: {f:a: {}}`, `f:data: {f:b: {}}`,
			`data: {a: "1", b: "2", c: "3"}`, `data: {a: "1"}`, nil,
		},
		{"a map that is empty, for ci", `f:data: {".": {}}`, `f:data: {f:b: {}}`, `data: {b: "2"}`, `data: {}`, nil},
		{"a list that is empty, for ci", `f:l: {".": {}}`, `f:l: {'v:"b"': {}}`, `l: [b]`, `l: []`, nil},
		{"a set", `f:l: {'v:"a"': {}, 'v:"c"': {}}`, `f:l: {'v:"b"': {}}`, `l: [a, b, c]`, `l: [a, c]`, nil},
		{"an atomic list", `f:l: {}`, `f:data: {f:b: {}}`, `l: [{a: 1}, {b: [2, null]}]`, `l: [{a: 1}, {b: [2, null]}]`, nil},
		{"an atomic map", `f:m: {}`, `f:data: {f:b: {}}`, `m: {a: {b: 1}}`, `m: {a: {b: 1}}`, nil},
		{
			"the key field that the server filled in stays its own", fmt.Sprintf(ports, `{".": {}, f:containerPort: {}}`), `f:data: {f:b: {}}`,
			`spec: {ports: [{containerPort: 80, protocol: TCP, name: x}]}`, `spec: {ports: [{containerPort: 80}]}`, nil,
		},
		{
			"an item needs its keys, whoever owns them", fmt.Sprintf(ports, `{f:name: {}}`), fmt.Sprintf(ports, `{".": {}, f:containerPort: {}, f:protocol: {}}`),
			`spec: {ports: [{containerPort: 80, protocol: TCP, name: x}]}`, `spec: {ports: [{containerPort: 80, protocol: TCP, name: x}]}`, nil,
		},
		{
			"an item of others is left out", `f:data: {f:a: {}}`, fmt.Sprintf(ports, `{".": {}, f:containerPort: {}, f:protocol: {}}`),
			`{data: {a: "1"}, spec: {ports: [{containerPort: 80, protocol: TCP}]}}`, `data: {a: "1"}`, nil,
		},
		{"what the object does not have", `f:data: {f:a: {}, f:z: {f:y: {}}}`, `f:data: {f:b: {}}`, `data: {a: "1"}`, `data: {a: "1"}`, []string{".data.z.y"}},
		{"a map where items are owned", `f:l: {'v:"a"': {}}`, `f:data: {f:b: {}}`, `l: {a: "1"}`, ``, []string{`.l[="a"]`}},
		{"a value where fields are owned", `f:l: {".": {}, f:a: {}}`, `f:data: {f:b: {}}`, `l: x`, `l: x`, []string{".l.a"}},
		{"an empty map within what is owned as a whole", `f:m: {}`, `f:data: {f:b: {}}`, `m: {a: {}, b: []}`, `m: {a: {}, b: []}`, nil},
		{"labels beside the name", `f:metadata: {f:labels: {f:a.b/c: {}}}`, `f:metadata: {f:labels: {f:d: {}}}`, `metadata: {labels: {a.b/c: x, d: y}}`, `metadata: {labels: {a.b/c: x}}`, nil},
	} {
		live := readObject(t, test.object)
		live.Object["metadata"] = merged(live.Object["metadata"], map[string]any{"managedFields": []any{managedEntry(t, "ci", test.ci), managedEntry(t, "other", test.other)}})
		owned, err := fieldowners.Parse(live.GetManagedFields())
		if err != nil {
			t.Fatal(err)
		}
		config, missing := configurationOf(live, owned, fieldowners.Manager{Name: "ci", Operation: "Apply"})
		if diff := cmp.Diff(readObject(t, test.want).Object, config.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
		var paths []string
		for _, path := range missing {
			paths = append(paths, path.String())
		}
		if diff := cmp.Diff(test.missing, paths); diff != "" {
			t.Errorf("%s: missing (-want +got):\n%s", test.reason, diff)
		}
	}
}

// readObject returns an object of this content with the identity of the one of the
// tests.
func readObject(t *testing.T, content string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal([]byte(content), &object.Object); err != nil {
		t.Fatalf("%s: %v", content, err)
	}
	object.Object["metadata"] = merged(object.Object["metadata"], map[string]any{"namespace": "n", "name": "a", "uid": "1"})
	object.Object["apiVersion"], object.Object["kind"] = "v1", "Thing"
	return object
}

func merged(metadata any, more map[string]any) map[string]any {
	all, isMap := metadata.(map[string]any)
	if !isMap {
		all = map[string]any{}
	}
	maps.Copy(all, more)
	return all
}

func managedEntry(t *testing.T, manager, fields string) map[string]any {
	t.Helper()
	var decoded map[string]any
	if err := yaml.Unmarshal([]byte(fields), &decoded); err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	return map[string]any{
		"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": decoded,
	}
}
