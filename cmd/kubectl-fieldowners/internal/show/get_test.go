package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/objects"
	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
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
		if len(stdout) > 3<<20 || stderr != "warning: Deep a: nested deeper than 1000 levels: what lies below is shown as one value\n" {
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

// TestGetMemory holds what a long list takes while it is printed to a few times its size.
func TestGetMemory(t *testing.T) {
	content, _ := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": raw(configMaps(1000, 20, strings.Repeat(" text", 20)))})
	path := file(t, string(content))
	for _, output := range []string{"tree", "json", "yaml"} {
		before := liveHeap()
		out := &measured{}
		if code := console.Run(t.Context(), newRoot, []string{"-f", path, "-o", output}, nil, out, io.Discard); code != 0 {
			t.Fatalf("exit code %d", code)
		}
		if used, most := out.peak-min(before, out.peak), uint64(5*len(content)); used > most {
			t.Errorf("-o %s: %d KiB for a list of %d KiB", output, used>>10, len(content)>>10)
		}
	}
}

// measured asks for the live heap after each megabyte.
type measured struct {
	bytes int
	peak  uint64
}

func (m *measured) Write(text []byte) (int, error) {
	const every = 1 << 20
	if before := m.bytes / every; m.bytes == 0 || (m.bytes+len(text))/every > before {
		m.peak = max(m.peak, liveHeap())
	}
	m.bytes += len(text)
	return len(text), nil
}

// TestItemsAsAWhole prints items one by one as they were printed in one list.
func TestItemsAsAWhole(t *testing.T) {
	items := []view.Item{}
	for i := range 3 {
		for _, output := range []string{"json", "yaml"} {
			var whole, single bytes.Buffer
			c := &console.Console{}
			c.Out = &whole
			w := itemWriter{out: &single, output: output}
			for _, item := range items {
				if err := w.add(item); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(w.end(), c.Structured(output, view.List[view.Item]{Items: items})); err != nil {
				t.Fatal(err)
			}
			var want, got any
			if err := errors.Join(yaml.Unmarshal(whole.Bytes(), &want), yaml.Unmarshal(single.Bytes(), &got)); err != nil {
				t.Errorf("%d items, %s: %v in\n%s", i, output, err, single.String())
			}
			if diff := cmp.Diff(want, got); diff != "" || output == "json" && whole.String() != single.String() {
				t.Errorf("%d items, %s (-whole +one by one):\n%s\n%s", i, output, diff, single.String())
			}
		}
		items = append(items, view.Item{Ref: view.Ref{Name: fmt.Sprint("a<&>\u202e", i)}, Managers: []view.ManagerItem{}, Errors: []string{"x\ny"}})
	}
}

// TestWideIsWhole has a path that is nearly as wide as the screen, and one that is wider. None is
// cut, and nothing else is wider than the screen.
func TestWideIsWhole(t *testing.T) {
	const (
		short  = `.spec.replicas`
		medium = `.spec.template.spec.containers[name="web"].env[name="A"].value`
		long   = `.spec.template.spec.containers[name="web"].env[name="A_NAME"].valueFrom.fieldRef.fieldPath`
	)
	row := func(path, value string) []string {
		return []string{"shop", "deployment.apps/web", path, "kubectl-client-side-apply", "Update", "scale", "apps/v1", "3d", value}
	}
	for _, test := range []struct {
		width int
		paths []string
		table bool
	}{
		{0, []string{short, medium, long}, true},
		{200, []string{short, medium, long}, true},
		{160, []string{short, medium}, true}, // the value gives way
		{160, []string{short, medium, long}, false},
		{80, []string{short, medium}, false},
		{80, []string{short, medium, long}, false},
	} {
		var out bytes.Buffer
		g := &getCommand{Reader: &objects.Reader{Console: &console.Console{}}, output: "wide"}
		g.Out = &out
		p := &getPrinter{getCommand: g, screen: view.Screen{Width: test.width}, objects: 1}
		for _, path := range test.paths {
			p.rows = append(p.rows, row(path, `"`+strings.Repeat("long and ", 6)+`wide"`))
		}
		p.table()
		if table := strings.HasPrefix(out.String(), "FIELD "); table != test.table {
			t.Errorf("%d columns: a table is %v, want %v:\n%s", test.width, table, test.table, out.String())
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if test.width > 0 && utf8.RuneCountInString(line) > test.width && line != long {
				t.Errorf("wider than %d: %s", test.width, line)
			}
		}
		for _, path := range test.paths {
			if !strings.Contains(out.String(), path+" ") && !strings.Contains(out.String(), path+"\n") {
				t.Errorf("%d columns: %s is cut in\n%s", test.width, path, out.String())
			}
		}
		if !test.table && !strings.Contains(out.String(), "\n  kubectl-client-side-apply/Update[scale], apps/v1, 3d: \"long and") {
			t.Errorf("%d columns: no owner below a field in\n%s", test.width, out.String())
		}
	}
}

// TestStackedObjects: where there are several, each stands above its fields.
func TestStackedObjects(t *testing.T) {
	var out bytes.Buffer
	g := &getCommand{Reader: &objects.Reader{Console: &console.Console{}}, output: "wide"}
	g.Out = &out
	p := &getPrinter{getCommand: g, screen: view.Screen{Width: 40}, objects: 2}
	p.rows = [][]string{
		{"shop", "configmap/a", ".data.x", "one", "Apply", "", "v1", "3d", `"x"`},
		{"shop", "configmap/a", ".data.x", "two", "Apply", "", "v1", "3d", `"x"`},
		{"shop", "configmap/b", ".data.x", "<nobody>", "", "", "", "", `"x"`},
	}
	p.table()
	const want = `configmap/a
  .data.x
    one/Apply, v1, 3d: "x"
    two/Apply, v1, 3d: "x"
configmap/b
  .data.x
    <nobody>: "x"
`
	if got := out.String(); got != want {
		t.Errorf("it prints\n%s", got)
	}
}

// liveHeap is what is still in use after a collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // sync.Pools are emptied by the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
