package ownerview_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// recorded are objects as a real API server wrote them.
func recorded(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob("../../../../fieldowners/testdata/objects/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	objects := map[string]map[string]any{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects[filepath.Base(file)] = parsed(t, string(content))
	}
	return objects
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return content
}

// TestTreeIsTheObject reads the tree as YAML again.
func TestTreeIsTheObject(t *testing.T) {
	objects := recorded(t)
	objects["odd"] = parsed(t, `{"kind": "A: b #c", "apiVersion": "v1", "": 1, "a": {"b": {}, "c": [], "d": [[1, [2, 3]], [], {"x": {"y": [{"z": null}]}}]},
"text": "a\n\n  b # c\n", "tail": "x\n\n", "odd keys": {"a: b": 1, "- c": 2, "#": 3, "é\n": 4, "true": 5, "1": 6}, "values": ["- a", "null", "#", "", " a", null, true, 1.5]}`)
	for name, content := range objects {
		var text bytes.Buffer
		if !(ownerview.Screen{}).Tree(&text, ownerview.New(content), ownerview.Filter{}) {
			t.Errorf("%s: nothing to show", name)
		}
		if metadata, ok := content["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
		if diff := cmp.Diff(content, parsed(t, text.String())); diff != "" {
			t.Errorf("%s (-object +tree):\n%s\n%s", name, diff, text.String())
		}
	}
}

// TestTreeFitsTheScreen holds lines to the width as long as the names of owners leave
// room for the object.
func TestTreeFitsTheScreen(t *testing.T) {
	for name, content := range recorded(t) {
		for _, width := range []int{80, 160} {
			var text bytes.Buffer
			ownerview.Screen{Width: width, Now: time.Now()}.Tree(&text, ownerview.New(content), ownerview.Filter{})
			for line := range strings.Lines(text.String()) {
				before, _, _ := strings.Cut(line, "  # ")
				if n := utf8.RuneCountInString(strings.TrimSpace(before)); n > width {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, line)
				}
			}
		}
	}
}

func TestTreeOfNarrowScreens(t *testing.T) {
	for _, width := range []int{1, 2, 10, 20} {
		for _, content := range recorded(t) {
			var text bytes.Buffer
			ownerview.Screen{Width: width}.Tree(&text, ownerview.New(content), ownerview.Filter{})
		}
	}
}

// TestSecretsStayHidden looks for values in everything that is printed.
func TestSecretsStayHidden(t *testing.T) {
	for name, object := range map[string]string{
		"data":       `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {k: TOPSECRET}}`,
		"stringData": `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {k: TOPSECRET}}`,
		"record":     `{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: TOPSECRET}}}`,
		"no map":     `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: TOPSECRET}`,
		"a list":     `{apiVersion: v1, kind: Secret, metadata: {name: a}, data: [TOPSECRET]}`,
		"managed": `{apiVersion: v1, kind: Secret, metadata: {name: a, managedFields: [{manager: m, operation: Apply, apiVersion: v1,
fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:k": {}}}}]}, data: {k: {nested: TOPSECRET}}}`,
	} {
		content := parsed(t, object)
		o := ownerview.New(content)
		var text bytes.Buffer
		ownerview.Screen{}.Tree(&text, o, ownerview.Filter{})
		for _, row := range (ownerview.Screen{}).Rows(o, ownerview.Filter{}, true) {
			text.WriteString(strings.Join(row, " "))
		}
		item, err := yaml.Marshal(o.Item(ownerview.Filter{}))
		if err != nil {
			t.Fatal(err)
		}
		if shown := text.String() + string(item); strings.Contains(shown, "TOPSECRET") || !strings.Contains(shown, "(hidden)") {
			t.Errorf("%s:\n%s", name, shown)
		}
		if !strings.Contains(cmp.Diff(content, nil), "TOPSECRET") {
			t.Errorf("%s: the object itself was changed", name)
		}
	}
}

// TestTreeSteersNoTerminal: what could turn a line around is escaped, and still the
// same YAML.
func TestTreeSteersNoTerminal(t *testing.T) {
	content := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{
		"a\u202eb": "c\u202ed", "\x1b[31m": "\x1b]0;x\a", "map\u2066": map[string]any{"x": int64(1)}, "list": []any{"\u200f"},
	}}
	var text bytes.Buffer
	ownerview.Screen{}.Tree(&text, ownerview.New(content), ownerview.Filter{})
	if strings.ContainsFunc(text.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("%q", text.String())
	}
	content["data"].(map[string]any)["map\u2066"].(map[string]any)["x"] = float64(1)
	if diff := cmp.Diff(content, parsed(t, text.String())); diff != "" {
		t.Errorf("(-object +tree):\n%s\n%s", diff, text.String())
	}
}
