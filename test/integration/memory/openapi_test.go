package memory

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"

	"coapply.dev/test/kit"
)

var update = flag.Bool("update", false, "write the OpenAPI documents of apply/applytest")

// builtinKinds are the kinds of the server in memory, by the path of their OpenAPI document.
var builtinKinds = map[string][]string{
	"api/v1":                            {"ConfigMap", "Secret", "ServiceAccount", "Namespace", "Service", "Event", "Node", "Pod"},
	"apis/apps/v1":                      {"Deployment", "StatefulSet", "Scale"},
	"apis/coordination.k8s.io/v1":       {"Lease"},
	"apis/rbac.authorization.k8s.io/v1": {"Role", "ClusterRole"},
	"apis/events.k8s.io/v1":             {"Event"},
	"apis/apiextensions.k8s.io/v1":      {"CustomResourceDefinition"},
}

// TestOpenAPI compares the OpenAPI documents of the server in memory with those of a kube-apiserver.
func TestOpenAPI(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(kit.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	for path, kinds := range builtinKinds {
		raw, err := paths[path].Schema("application/json")
		if err != nil {
			t.Fatal(err)
		}
		want, file := only(t, raw, kinds), kit.File("apply", "applytest", "openapi", strings.ReplaceAll(path, "/", "_")+".json")
		if *update {
			if err := os.WriteFile(file, want, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if difference := cmp.Diff(string(want), string(got)); difference != "" {
			t.Errorf("%s is not the document of the kube-apiserver; -update writes it", file)
		}
	}
}

// only returns a document with only the schemas of some kinds and what they refer to, without descriptions.
func only(t *testing.T, raw []byte, kinds []string) []byte {
	t.Helper()
	var document struct {
		OpenAPI    string         `json:"openapi"`
		Info       map[string]any `json:"info"`
		Paths      map[string]any `json:"paths"`
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	document.Paths = map[string]any{}
	all, kept := document.Components.Schemas, map[string]map[string]any{}
	var keep func(value any)
	keep = func(value any) {
		switch value := value.(type) {
		case map[string]any:
			if _, ok := value["description"].(string); ok {
				delete(value, "description")
			}
			if to, ok := value["$ref"].(string); ok {
				if name := strings.TrimPrefix(to, "#/components/schemas/"); kept[name] == nil {
					kept[name] = all[name]
					keep(all[name])
				}
			}
			for _, inner := range value {
				keep(inner)
			}
		case []any:
			for _, inner := range value {
				keep(inner)
			}
		}
	}
	for name, schema := range all {
		versions, _ := schema["x-kubernetes-group-version-kind"].([]any)
		if len(versions) != 1 {
			continue
		}
		version, _ := versions[0].(map[string]any)
		kind, _ := version["kind"].(string)
		if slices.Contains(kinds, strings.TrimSuffix(kind, "List")) {
			kept[name] = schema
			keep(schema)
		}
	}
	document.Components.Schemas = kept
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}
