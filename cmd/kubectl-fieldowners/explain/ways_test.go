package explain_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
)

// waysFixture has conflicts on fields that are known and not, of odd names.
func waysFixture(t *testing.T) explain.Explanation {
	t.Helper()
	answer := "Apply failed with 6 conflicts: conflicts with \"before-first-apply\" using v1:\n- .data.a.b\n- .data.`\n" +
		"conflicts with \"m\":\n- .data.a.b\n- .data.gone.x\n- .data.lost.x\nconflicts with \"\" using v1:\n- .data.gone.x\n"
	live := configMap(nil, map[string]any{"a.b": "1", "`": "2"})
	explanations, err := explain.Answer([]byte(answer), list(live), nil)
	if err != nil {
		t.Fatal(err)
	}
	return explanations[0]
}

func TestWays(t *testing.T) {
	e := waysFixture(t)
	want := "apply.OnConflict(apply.Reject)." +
		"\n\tAt(`.data[\"a.b\"]`, apply.Relinquish)." +
		"\n\tAt(\".data[\\\"`\\\"]\", apply.Relinquish)." +
		"\n\tWhen(apply.Match{Manager: \"m\", Operation: \"Apply\"}, apply.Relinquish)." +
		"\n\tWhen(apply.Match{Manager: \"\", Operation: \"Update\"}, apply.Relinquish)"
	if diff := cmp.Diff(want, e.Ways[1].Go); diff != "" {
		t.Errorf("each field once, the fields that are not known by their owners (-want +got):\n%s", diff)
	}
	for i, c := range []struct{ command, why, other string }{
		{"kubectl apply --server-side --force-conflicts --field-manager MANAGER -f FILE", "m/Apply: the next apply of this owner conflicts with you",
			"before-first-apply/Update: this name stands for earlier writers"},
		{"kubectl apply --server-side --field-manager MANAGER -f FILE", "Take the fields out of the file", "stay with their owners"},
		{"kubectl apply --server-side --field-manager MANAGER -f FILE", "m/Apply: the next apply of another value conflicts with you",
			"before-first-apply/Update: this name stands for earlier writers and never writes again, but"},
	} {
		way := e.Ways[i]
		if way.Command != c.command || strings.Count(way.Why, c.why) != 1 || strings.Count(way.Why, c.other) != 1 || way.Title == "" || strings.Contains(way.Why, "m/Apply, m/Apply") {
			t.Errorf("%+v", way)
		}
	}
}

// TestGoCompiles type-checks what the ways say in Go.
func TestGoCompiles(t *testing.T) {
	answer := `Apply failed with 1 conflict: conflict with "m": .data.x`
	known, err := explain.Answer([]byte(answer), nil, list(configMap(nil, map[string]any{"x": "1"})))
	if err != nil {
		t.Fatal(err)
	}
	long := explainOne(t, `Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.x`, nil, nil)
	source := "package example\n\nimport \"coapply.dev/apply\"\n"
	for i, e := range []explain.Explanation{waysFixture(t), known[0], long} {
		for j, way := range e.Ways {
			source += fmt.Sprintf("\nvar policy%d%d apply.Policy = %s\n", i, j, way.Go)
		}
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "ways.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	config := types.Config{Importer: compiledPackages(t, "coapply.dev/apply"), Error: func(err error) { t.Error(err) }}
	if _, err := config.Check("example.com/ways", fset, []*ast.File{file}, nil); err != nil {
		t.Log(source)
	}
}

// compiledPackages reads what go list -export says the compiler made: this package
// does not import apply.
func compiledPackages(t *testing.T, path string) types.Importer {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export", path)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct{ ImportPath, Export string }
		err := decoder.Decode(&listed)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		exports[listed.ImportPath] = listed.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
}
