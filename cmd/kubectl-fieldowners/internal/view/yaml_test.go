package view_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// TestTreeIsTheObject reads the tree as YAML again, with two parsers.
func TestTreeIsTheObject(t *testing.T) {
	objects := recorded(t)
	objects["odd"] = parsed(t, `{"kind": "A: b #c", "apiVersion": "v1", "": 1, "a": {"b": {}, "c": [], "d": [[1, [2, 3]], [], {"x": {"y": [{"z": null}]}}]},
"text": "a\n\n  b # c\n", "tail": "x\n\n", "odd keys": {"a: b": 1, "- c": 2, "#": 3, "é\n": 4, "true": 5, "1": 6}, "values": ["- a", "null", "#", "", " a", null, true, 1.5]}`)
	objects["kube-root-ca.crt"] = parsed(t, rootCA)
	long := strings.Repeat("long # text: ", 75)
	objects["long"] = map[string]any{"kind": "Long", "apiVersion": "v1", long: map[string]any{long: long}, "quoted": "- " + long, "lines": long + "\n" + long,
		"keys": map[string]any{long: []any{long, map[string]any{long: "x", "y": long}}}, "items": []any{[]any{"- " + long, long}}}
	for name, content := range objects {
		holdTree(t, name, asJSON(t, content))
	}
}

// TestTreeOfAnything prints what no API server would store.
func TestTreeOfAnything(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \t\n:#'"|>?&*!%@{},\[\]~=<0-9eE.+_xyno-]{0,12}`), rapid.StringMatching(`([a-z'"\\#:]{1,9} ){0,30}`))
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalars := []*rapid.Generator[any]{
			text.AsAny(), rapid.Bool().AsAny(), rapid.Float64Range(-1e300, 1e300).AsAny(), rapid.Just[any](nil),
		}
		if depth > 0 {
			scalars = append(scalars, rapid.MapOfN(text, value(depth-1), 0, 4).AsAny(), rapid.SliceOfN(value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(scalars...)
	}
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.MapOfN(text, value(4), 1, 4).Draw(t, "object")
		holdTree(t, "drawn", content)
	})
}

type failing interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// holdTree compares what is printed with the object, as JSON decodes it.
func holdTree(t failing, name string, content map[string]any) {
	t.Helper()
	var text bytes.Buffer
	if !(view.Screen{Now: time.Now()}).Tree(&text, view.New(content), view.Filter{}) {
		t.Fatalf("%s: nothing to show", name)
	}
	want := asJSON(t, content)
	if metadata, ok := want["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	var newer map[string]any
	if err := yaml.Unmarshal(text.Bytes(), &newer); err != nil {
		t.Fatalf("%s: %v in\n%s", name, err, text.String())
	}
	for parser, got := range map[string]map[string]any{"sigs.k8s.io/yaml": parsed(t, text.String()), "go.yaml.in/yaml/v3": asJSON(t, newer)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s, %s (-object +tree):\n%s\n%s", name, parser, diff, text.String())
		}
	}
}

func asJSON(t failing, content map[string]any) map[string]any {
	t.Helper()
	encoded, err := json.Marshal(content)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var again map[string]any
	if err := json.Unmarshal(encoded, &again); err != nil {
		t.Fatalf("%v", err)
	}
	return again
}

// rootCA is as in every namespace of a cluster.
const rootCA = `
apiVersion: v1
kind: ConfigMap
metadata:
  annotations:
    kubernetes.io/description: Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.
  name: kube-root-ca.crt
  namespace: default
  managedFields:
  - manager: kube-controller-manager
    operation: Update
    apiVersion: v1
    time: "2026-01-02T03:04:05Z"
    fieldsType: FieldsV1
    fieldsV1: {"f:data": {".": {}, "f:ca.crt": {}}, "f:metadata": {"f:annotations": {".": {}, "f:kubernetes.io/description": {}}}}
data:
  ca.crt: |
    -----BEGIN CERTIFICATE-----
    MIIDBTCCAe2gAwIBAgIIWvZ5sCjbJZ0wDQYJKoZIhvcNAQELBQAwFTETMBEGA1UE
    -----END CERTIFICATE-----
`
