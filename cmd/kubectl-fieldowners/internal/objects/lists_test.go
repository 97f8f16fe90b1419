package objects

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
)

// TestListsItemByItem reads Lists in each form, and again as a whole.
func TestListsItemByItem(t *testing.T) {
	var items []json.RawMessage
	var whole []string
	for i := range 500 {
		item := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c%d"}, "data": {"a": "value %d%s"}}`, i, i, strings.Repeat(" text", 600))
		items, whole = append(items, json.RawMessage(item)), append(whole, item)
	}
	asJSON, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": items})
	asYAML, _ := yaml.JSONToYAML(asJSON)
	anchored := strings.Replace(string(asYAML), "value 1 ", "&x value 1 ", 1)
	typed := strings.NewReplacer("kind: List", "kind: ConfigMapList", "  kind: ConfigMap\n", "").Replace(string(asYAML))
	want := read(t, strings.Join(whole, "\n---\n"))
	for name, content := range map[string]string{"JSON": string(asJSON), "YAML": string(asYAML), "an anchor": anchored, "a typed list": typed} {
		if len(content) < long {
			t.Fatalf("%s: %d bytes are read as a whole anyway", name, len(content))
		}
		l, is := Document{Text: []byte(content), Line: 1}.list()
		if is == (name == "an anchor") || is && len(l.items) != len(items) {
			t.Errorf("%s: %d items, %t", name, len(l.items), is)
		}
		if diff := cmp.Diff(want, read(t, content)); diff != "" {
			t.Errorf("%s (-one by one +as a list):\n%s", name, diff)
		}
	}
}

func read(t *testing.T, content string) []map[string]any {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := NewReader(&console.Console{}).ReadAll(path)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
