package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
)

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "objects")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func newRoot(streams genericiooptions.IOStreams) *cobra.Command {
	return NewGet(objects.NewReader(&console.Console{IOStreams: streams}))
}

func got(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := console.Run(t.Context(), newRoot, args, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Errorf("%v: exit code %d: %s", args, code, errOut.String())
	}
	return out.String(), errOut.String()
}

const managed = `"managedFields": [{"manager": "m", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}]`

// configMaps are so many, each with so many values, all with the same end.
func configMaps(n, keys int, pad string) []string {
	var items []string
	for i := range n {
		var data []string
		for k := range keys {
			data = append(data, fmt.Sprintf(`"a%d": "value %d%s"`, k, k, pad))
		}
		items = append(items, fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c%d", %s}, "data": {%s}}`, i, managed, strings.Join(data, ", ")))
	}
	return items
}

// TestGetOfDeepObjects has 9,000 levels, of which a page would show every one further to
// the right.
func TestGetOfDeepObjects(t *testing.T) {
	const levels = 9000
	object := `{"apiVersion": "v1", "kind": "Deep", "metadata": {"name": "a", ` + managed + `}, "data": ` + strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels) + "}"
	path := file(t, object)
	for _, output := range []string{"tree", "table", "wide", "json", "yaml", "name", "html"} {
		stdout, stderr := got(t, "-f", path, "-o", output)
		if len(stdout) > 3<<20 || stderr != "warning: Deep a: nested deeper than 1000 levels: the content below is shown as one value\n" {
			t.Errorf("-o %s: %d bytes, stderr %q", output, len(stdout), stderr)
		}
	}
}

// TestPageIsBounded has more objects than a page has room for, and one object that has
// more lines.
func TestPageIsBounded(t *testing.T) {
	many, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": raw(configMaps(30, 1000, ""))})
	for _, test := range []struct{ content, page, stderr string }{
		{string(many), "11 objects</strong> left out", "warning: a page has 20000 lines at most, so 11 objects are left out"},
		{configMaps(1, page.MaxLines+5, "")[0], "more lines: narrow", ""},
	} {
		html, stderr := got(t, "-f", file(t, test.content), "-o", "html")
		html = strings.ReplaceAll(html, "objects left out.</strong>", "objects</strong> left out")
		if lines := strings.Count(html, "<code><span>"); lines > page.MaxLines || lines < 15000 || !strings.Contains(html, test.page) || !strings.HasPrefix(stderr, test.stderr) {
			t.Errorf("%d lines, stderr %q, want %q and %q", lines, stderr, test.page, test.stderr)
		}
	}
}

func raw(items []string) (all []json.RawMessage) {
	for _, item := range items {
		all = append(all, json.RawMessage(item))
	}
	return all
}
