package docs_test

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
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// imported are the packages that Go blocks and code spans may name: documents
// leave imports out.
var imported = map[string]string{
	"apply":           "coapply.dev/apply",
	"applytest":       "coapply.dev/apply/applytest",
	"breaker":         "coapply.dev/apply/breaker",
	"lanes":           "coapply.dev/apply/lanes",
	"ownership":       "coapply.dev/apply/ownership",
	"applyset":        "coapply.dev/apply/applyset",
	"appsv1":          "k8s.io/api/apps/v1",
	"appsv1ac":        "k8s.io/client-go/applyconfigurations/apps/v1",
	"autoscalingv1ac": "k8s.io/client-go/applyconfigurations/autoscaling/v1",
	"cluster":         "sigs.k8s.io/controller-runtime/pkg/cluster",
	"coapply":         "coapply.dev",
	"commands":        "coapply.dev/compare/commands",
	"compare":         "coapply.dev/compare",
	"unstructured":    "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured",
	"client":          "sigs.k8s.io/controller-runtime/pkg/client",
	"context":         "context",
	"contract":        "coapply.dev/fieldowners/contract",
	"controllers":     "coapply.dev/platform/controllers",
	"corev1":          "k8s.io/api/core/v1",
	"corev1ac":        "k8s.io/client-go/applyconfigurations/core/v1",
	"command":         "coapply.dev/internal/command",
	"controllerutil":  "sigs.k8s.io/controller-runtime/pkg/controller/controllerutil",
	"ctrl":            "sigs.k8s.io/controller-runtime",
	"discovery":       "k8s.io/client-go/discovery",
	"errors":          "errors",
	"events":          "k8s.io/client-go/tools/events",
	"fieldmanagers":   "coapply.dev/platform/controllers/fieldmanagers",
	"fieldowners":     "coapply.dev/fieldowners",
	"listersv1":       "k8s.io/client-go/listers/core/v1",
	"lint":            "coapply.dev/cmd/kubectl-fieldowners/lint",
	"fmt":             "fmt",
	"history":         "coapply.dev/compare/history",
	"json":            "encoding/json",
	"localcluster":    "coapply.dev/internal/localcluster",
	"os":              "os",
	"metav1":          "k8s.io/apimachinery/pkg/apis/meta/v1",
	"metav1ac":        "k8s.io/client-go/applyconfigurations/meta/v1",
	"reconciler":      "coapply.dev/apply/reconciler",
	"rest":            "k8s.io/client-go/rest",
	"results":         "coapply.dev/compare/results",
	"retry":           "k8s.io/client-go/util/retry",
	"schema":          "k8s.io/apimachinery/pkg/runtime/schema",
	"strings":         "strings",
	"testing":         "testing",
	"typedv1":         "k8s.io/client-go/kubernetes/typed/core/v1",
	"types":           "k8s.io/apimachinery/pkg/types",
	"update":          "coapply.dev/apply/update",
	"v1alpha1":        "coapply.dev/platform/api/v1alpha1",
	"v1alpha1ac":      "coapply.dev/platform/api/v1alpha1/applyconfiguration/api/v1alpha1",
}

// TestGoBlocks type-checks the Go blocks of each document, all of them together
// as one package.
func TestGoBlocks(t *testing.T) {
	packages := newImporter(t)
	for _, d := range documents(t) {
		if d.path == verbatim {
			continue // TestReconcilerCode
		}
		var files []*ast.File
		fset := token.NewFileSet()
		for _, b := range d.blocks {
			if b.language != "go" {
				continue
			}
			file, err := parseBlock(fset, d, b)
			if err != nil {
				t.Error(err)
				continue
			}
			files = append(files, file)
		}
		config := types.Config{Importer: packages, Error: func(err error) { t.Error(err) }}
		_, _ = config.Check("example.com/"+d.path, fset, files, nil) // told through Error
	}
}

// parseBlock adds the package clause and the imports, and keeps the lines of the
// document.
func parseBlock(fset *token.FileSet, d document, b block) (*ast.File, error) {
	head := "package example\n"
	for _, name := range slices.Sorted(maps.Keys(imported)) {
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(b.text) {
			head += fmt.Sprintf("import %s %q\n", name, imported[name])
		}
	}
	return parser.ParseFile(fset, "", fmt.Sprintf("%s//line %s:%d\n%s", head, d.path, b.line, b.text), parser.SkipObjectResolution)
}

// newImporter reads what go list -export says the compiler made, so that a block
// is checked against what the tests are compiled from.
func newImporter(t *testing.T) types.Importer {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-json=ImportPath,Export"}, slices.Collect(maps.Values(imported))...)
	list := exec.CommandContext(t.Context(), "go", args...)
	list.Dir = filepath.Join(root, "compare") // the module that has them all
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
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("%s is not among the packages of documents", path)
		}
		return os.Open(exports[path])
	})
}

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	goName   = regexp.MustCompile(`^([a-z0-9]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
)

// TestNamesExist looks up the names of Go in code spans, such as apply.Config and
// fieldowners.Path.ServerString.
func TestNamesExist(t *testing.T) {
	packages := newImporter(t)
	found := 0
	for _, d := range documents(t) {
		for _, span := range codeSpan.FindAllStringSubmatch(d.prose, -1) {
			name := goName.FindStringSubmatch(span[1])
			if len(name) == 0 || !strings.HasPrefix(imported[name[1]], "coapply.dev") {
				continue
			}
			found++
			pkg, err := packages.Import(imported[name[1]])
			if err != nil {
				t.Fatal(err)
			}
			object := pkg.Scope().Lookup(name[2])
			if object != nil && name[3] != "" {
				object, _, _ = types.LookupFieldOrMethod(object.Type(), true, pkg, name[3])
			}
			if object == nil {
				t.Errorf("%s: there is no %s", d.path, name[0])
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d names found: are code spans written in another way now?", found)
	}
}
