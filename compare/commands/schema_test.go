package commands_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

const schemaDocument = "../../docs/results-schema.md"

// TestResultsSchema: the document leads to each Go type that results.jsonl is written from, and there each field has its
// meaning.
func TestResultsSchema(t *testing.T) {
	content, err := os.ReadFile(schemaDocument)
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]reflect.Type{}
	for _, root := range []any{
		summary.Info{}, summary.Square{}, summary.Answer{}, summary.Row{}, summary.Comparison{}, summary.Check{},
	} {
		writtenTypes(reflect.TypeOf(root), written)
	}
	if len(written) < 10 {
		t.Errorf("only %d types", len(written))
	}
	for name, kind := range written {
		_, after, linked := strings.Cut(string(content), "[`"+name+"`](../")
		file, _, _ := strings.Cut(after, ")")
		if !linked {
			t.Errorf("%s does not lead to %s", schemaDocument, name)
			continue
		}
		for _, field := range unexplained(t, filepath.Join("..", "..", file), kind.Name()) {
			t.Errorf("%s: %s.%s has no comment", file, name, field)
		}
	}
}

// TestMeasuresAreDocumented compares the table of measures with those that are taken.
func TestMeasuresAreDocumented(t *testing.T) {
	content, err := os.ReadFile(schemaDocument)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	fmt.Fprint(&want, "| Measure | Meaning |\n|---|---|\n")
	for _, m := range summary.Measures {
		fmt.Fprintf(&want, "| `%s` | %s |\n", m.Name, m.Text)
	}
	if !strings.Contains(string(content), want.String()) {
		t.Errorf("%s: the table of measures is not\n%s", schemaDocument, &want)
	}
}

var codeSpan = regexp.MustCompile("`([a-z-]+)`")

// TestChecksAreDocumented compares the checks that the document names with those that a report has: the same, in the same order.
func TestChecksAreDocumented(t *testing.T) {
	content, err := os.ReadFile("../../docs/benchmarking.md")
	if err != nil {
		t.Fatal(err)
	}
	_, threats, _ := strings.Cut(string(content), "## Threats to validity")
	threats, _, _ = strings.Cut(threats, "If a control loses nothing")
	var shown, checks []string
	for _, name := range codeSpan.FindAllStringSubmatch(threats, -1) {
		shown = append(shown, name[1])
	}
	for _, c := range summary.Of(results.Run{}, nil).Checks {
		checks = append(checks, c.Name)
	}
	if !reflect.DeepEqual(shown, checks) {
		t.Errorf("the document has %q, the report %q", shown, checks)
	}
}

// writtenTypes adds a struct, and those that it holds, by name.
func writtenTypes(kind reflect.Type, written map[string]reflect.Type) {
	switch kind.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		writtenTypes(kind.Elem(), written)
		return
	case reflect.Struct:
	default:
		return
	}
	if kind == reflect.TypeFor[time.Time]() || written[kind.String()] != nil {
		return
	}
	written[kind.String()] = kind
	for field := range kind.Fields() {
		if field.IsExported() {
			writtenTypes(field.Type, written)
		}
	}
}

// unexplained returns the exported fields of a struct that have no comment.
func unexplained(t *testing.T, file, name string) (fields []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		found = true
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			for _, id := range field.Names {
				if id.IsExported() && field.Doc == nil && field.Comment == nil {
					fields = append(fields, id.Name)
				}
			}
		}
		return false
	})
	if !found {
		t.Errorf("%s has no type %s", file, name)
	}
	return fields
}
