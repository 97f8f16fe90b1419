package view_test

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

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
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

func parsed(t failing, text string) map[string]any {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return content
}

// TestTreeFitsTheScreen holds lines of the object to the width; comments may be wider.
func TestTreeFitsTheScreen(t *testing.T) {
	for name, content := range recorded(t) {
		for _, width := range []int{1, 20, 80, 160} {
			var text bytes.Buffer
			view.Screen{Width: width, Now: time.Now(), NoHeaders: true}.Tree(&text, view.New(content), view.Filter{})
			for line := range strings.Lines(text.String()) {
				before, _, _ := strings.Cut(line, "  # ")
				if n := utf8.RuneCountInString(strings.TrimSpace(before)); n > width && line[0] != '#' {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, line)
				}
			}
		}
	}
}

// TestTreeSaysHowAndWhen has operation and age beside each field, and further to the right behind a
// text that is too wide for the column. A narrow terminal has no room for the age.
func TestTreeSaysHowAndWhen(t *testing.T) {
	o := view.New(parsed(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  managedFields:
  - {manager: ci, operation: Apply, apiVersion: v1, time: "2026-01-02T03:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {".": {}, "f:a": {}, "f:image": {}}}}
  - {manager: autoscaler, operation: Update, apiVersion: v1, subresource: scale, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}
data: {a: b, image: registry.example.com/a/path/that/goes/on:1.2.3}
`))
	now := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
	for width, want := range map[int]string{
		0: `
data:                                                    # (ci/Apply 5m)
  a: b                                                   # autoscaler/Update[scale], ci/Apply 5m
  image: registry.example.com/a/path/that/goes/on:1.2.3  # ci/Apply 5m
`,
		80: `
data:            # (ci/Apply)
  a: b           # autoscaler/Update[scale], ci/Apply
  image: registry.example.com/a/path/that/goes/on:1.2.3  # ci/Apply
`,
		38: `
data:            # (ci/Apply)
  a: b           # autoscaler/Update[scale], ci/Apply
  image: registry.example.com/a/path/…  # ci/Apply
`,
	} {
		var text bytes.Buffer
		view.Screen{Width: width, Now: now, NoHeaders: true}.Tree(&text, o, view.Filter{})
		if !strings.Contains("\n"+text.String(), want) {
			t.Errorf("%d columns: want%sgot\n%s", width, want, text.String())
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
		o := view.New(content)
		var text bytes.Buffer
		view.Screen{}.Tree(&text, o, view.Filter{})
		for _, row := range (view.Screen{}).Rows(o, view.Filter{}, true) {
			text.WriteString(strings.Join(row, " "))
		}
		item, err := yaml.Marshal(o.Item(view.Filter{}))
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
	view.Screen{}.Tree(&text, view.New(content), view.Filter{})
	if strings.ContainsFunc(text.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("%q", text.String())
	}
	content["data"].(map[string]any)["map\u2066"].(map[string]any)["x"] = float64(1)
	if diff := cmp.Diff(content, parsed(t, text.String())); diff != "" {
		t.Errorf("(-object +tree):\n%s\n%s", diff, text.String())
	}
}
