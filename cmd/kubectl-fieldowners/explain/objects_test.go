package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
)

// secretObject has a value for every field that hides one.
func secretObject(value string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "s", "labels": map[string]any{"l": value}, "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": value, "other": value,
		}},
		"data": map[string]any{"k": value}, "stringData": map[string]any{"k": value}, "type": value,
	}
}

func configMap(managedFields any, data map[string]any) map[string]any {
	metadata := map[string]any{"name": "a", "namespace": "shop"}
	if managedFields != nil {
		metadata["managedFields"] = managedFields
	}
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
}

func of(apiVersion, kind, namespace, name string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}}
}

func entryOf(manager, operation, fields string) map[string]any {
	return map[string]any{"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:data": map[string]any{fields: map[string]any{}}}}
}

// list returns an object as a list; none for nil.
func list(object map[string]any) []map[string]any {
	if object == nil {
		return nil
	}
	return []map[string]any{object}
}

// TestLocates explains a conflict on .data.a.b, which may be "a.b" or b below a.
func TestLocates(t *testing.T) {
	answer := `Apply failed with 1 conflict: conflict with "m": .data.a.b`
	dotted, nested := map[string]any{"a.b": "1"}, map[string]any{"a": map[string]any{"b": "2"}}
	both := map[string]any{"a.b": "1", "a": map[string]any{"b": "2"}}
	otherwise := entryOf("m", "Update", "")
	otherwise["fieldsV1"] = map[string]any{"f:data": map[string]any{"f:a": map[string]any{"f:b": map[string]any{}}}}
	owns := []any{entryOf("other", "Apply", "f:a"), entryOf("m", "Apply", "f:a.b"), otherwise}
	for _, c := range []struct {
		reason       string
		live, intent map[string]any
		want         string
	}{
		{"nothing is known", nil, nil, ".data.a.b: owned by m/Apply"},
		{"the intent has one such field", nil, configMap(nil, dotted), `.data["a.b"]: owned by m/Apply, ours is "1"`},
		{"the intent has the other one", nil, configMap(nil, nested), `.data.a.b: owned by m/Apply, ours is "2"`},
		{"the intent has both", nil, configMap(nil, both), ".data.a.b: owned by m/Apply"},
		{"the live object has one", configMap(nil, dotted), nil, `.data["a.b"]: owned by m/Apply with "1"`},
		{"the live object has both", configMap(nil, both), nil, ".data.a.b: owned by m/Apply"},
		{"the owner's entry tells", configMap(owns, both), configMap(nil, both), `.data["a.b"]: owned by m/Apply with "1", ours is "1"`},
		{"the owner's entry tells, without the intent", configMap(owns, both), nil, `.data["a.b"]: owned by m/Apply with "1"`},
		{"the intent decides against the owner's entry", configMap(owns, both), configMap(nil, nested),
			`.data.a.b: owned by m/Apply with "2", ours is "2"`},
		{"neither has it", configMap(nil, nil), configMap(nil, nil), ".data.a.b: owned by m/Apply"},
	} {
		explanations, err := explain.Answer([]byte(answer), list(c.live), list(c.intent))
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
			continue
		}
		if diff := cmp.Diff(c.want, lineOf(explanations[0].Conflicts[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestRefusesObjects(t *testing.T) {
	other := configMap(nil, nil)
	other["metadata"].(map[string]any)["name"] = "b"
	broken := entryOf("m", "Apply", "f:x")
	broken["fieldsV1"] = map[string]any{"x": 1}
	for _, c := range []struct {
		reason, answer string
		live, intent   map[string]any
		want           string
	}{
		{"two objects", statusJSON, configMap(nil, nil), other, "the intent is ConfigMap shop/b, but the live object is ConfigMap shop/a"},
		{"two kinds", statusJSON, configMap(nil, nil), secretObject("x"), "the intent is Secret s, but the live object is ConfigMap shop/a"},
		{"two kinds of one name", statusJSON, configMap(nil, nil), of("v1", "Service", "shop", "a"), "the intent is Service shop/a, but the live object is ConfigMap shop/a"},
		{"two groups", statusJSON, configMap(nil, nil), of("x/v1", "ConfigMap", "shop", "a"), "the intent is ConfigMap shop/a, but the live object is ConfigMap shop/a"},
		{"two namespaces", statusJSON, configMap(nil, nil), of("v1", "ConfigMap", "other", "a"), "the intent is ConfigMap other/a, but the live object is ConfigMap shop/a"},
		{"no name", statusJSON, nil, of("v1", "ConfigMap", "", ""), "the intent: apiVersion, kind and metadata.name are required"},
		{"no kind", statusJSON, nil, of("v1", "", "", "a"), "the intent: apiVersion, kind and metadata.name are required"},
		{"no version", statusJSON, nil, of("", "ConfigMap", "", "a"), "the intent: apiVersion, kind and metadata.name are required"},
		{"a bad version", statusJSON, nil, map[string]any{"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"},
		{"managed fields of another shape", statusJSON, configMap("x", nil), nil, "the live object: metadata.managedFields"},
		{"managed fields that cannot be read", statusJSON, configMap([]any{broken}, nil), nil, `the live object: managedFields[0] (manager "m")`},
	} {
		explanations, err := explain.Answer([]byte(c.answer), list(c.live), list(c.intent))
		if err == nil || !strings.Contains(err.Error(), c.want) || explanations != nil {
			t.Errorf("%s: %v, %v; want %q", c.reason, explanations, err, c.want)
		}
	}
}

func TestHidesSecrets(t *testing.T) {
	paths := []string{
		".data.k", ".data", ".stringData.k", ".metadata.annotations",
		".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration", ".metadata.labels.l", ".type",
	}
	answer := fmt.Sprintf("Apply failed with %d conflicts: conflicts with \"m\":\n- %s", len(paths), strings.Join(paths, "\n- "))
	explanations, err := explain.Answer([]byte(answer), list(secretObject("theirs")), list(secretObject("ours")))
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, c := range explanations[0].Conflicts {
		if got := lineOf(c); strings.Contains(got, "ours is (hidden)") == strings.Contains(got, "theirs") || c.Path.IsRoot() {
			t.Errorf("%v: hidden and shown, or neither", got)
		}
		if strings.Contains(lineOf(c), "theirs") {
			shown = append(shown, c.Path.String())
		}
	}
	if diff := cmp.Diff([]string{".metadata.labels.l", ".type"}, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	text := explanations[0].String()
	if strings.Count(text, "theirs") != 2 || strings.Count(text, "(hidden)") != 10 {
		t.Errorf("the text shows other values:\n%s", text)
	}
}

// TestColumns holds the width, also for what is long.
func TestColumns(t *testing.T) {
	value := strings.Repeat("é", 200)
	intent := configMap(nil, map[string]any{"a.b": value, "with space -f '": value})
	answer := "Apply failed with 2 conflicts: conflicts with \"m\":\n- .data.a.b\n- .data.with space -f '\n"
	explanations, err := explain.Answer([]byte(answer), list(intent), list(intent))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(explanations[0].String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 || strings.TrimRight(line, " \n") != strings.TrimSuffix(line, "\n") {
			t.Errorf("%d columns, or blanks at its end: %q", n, line)
		}
	}
	intent["data"] = map[string]any{"with space -f '" + value: value}
	one, err := explain.Answer([]byte(`Apply failed with 1 conflict: conflict with "m": .data.with space -f '`+value), nil, list(intent))
	if err != nil {
		t.Fatal(err)
	}
	argument := `'.data["with space -f '\''` + value + `"]'`
	if got := one[0].Look; got != "kubectl fieldowners get configmap/a --namespace shop --path "+argument || !strings.Contains(one[0].String(), "--path "+argument+"\n") {
		t.Errorf("an argument with blanks is broken: %s\n%v", got, one[0])
	}
}

// TestSteersNoTerminal has names with what terminals obey.
func TestSteersNoTerminal(t *testing.T) {
	answer := "Apply failed with 1 conflict: conflict with \"a\\x1b[31m\\nb\": .data.\x1b[2Jx\u202e"
	explanations, err := explain.Answer([]byte(answer), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := explanations[0].String()
	if strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, `    owner  "a\x1b[31m\nb/Apply"`) {
		t.Errorf("%q", text)
	}
}
