package summary_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

var threatRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| [^|]+ \\| ([^|]+) \\|$")

// TestThreats compares the tables of threats with the checks that the report prints: the same ones, in the same order,
// and those that cannot fail said to be such.
func TestThreats(t *testing.T) {
	run, trials, err := results.Load(filepath.Join("..", "results", "testdata", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	var shown, checks []string
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "benchmarking.md"))
	if err != nil {
		t.Fatal(err)
	}
	canFail := failingChecks(t)
	for _, row := range threatRow.FindAllStringSubmatch(string(document), -1) {
		shown = append(shown, row[1])
		if says := row[2] != "–"; says != canFail[row[1]] {
			t.Errorf("%s can fail: %v, and the table says %q", row[1], canFail[row[1]], row[2])
		}
	}
	for _, c := range summary.Of(run, trials).Checks {
		checks = append(checks, c.Name)
	}
	if !slices.Equal(shown, checks) {
		t.Errorf("the tables have\n%q,\nthe report\n%q", shown, checks)
	}
}

// failingChecks reads in compare/summary which checks can come to the state "failed": those whose function names it, or
// state, which gives it.
func failingChecks(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	functions, looks := map[string]bool{}, map[string]string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
				functions[f.Name.Name] = names(f, "failed") || names(f, "state")
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if name, look := checkOf(n); look != "" {
				looks[name] = look
			}
			return true
		})
	}
	canFail := map[string]bool{}
	for name, look := range looks {
		canFail[name] = functions[look]
	}
	return canFail
}

// checkOf recognises {"name", "threat", "guard", look}.
func checkOf(n ast.Node) (name, look string) {
	literal, ok := n.(*ast.CompositeLit)
	if !ok || len(literal.Elts) != 4 {
		return "", ""
	}
	text, isText := literal.Elts[0].(*ast.BasicLit)
	function, isName := literal.Elts[3].(*ast.Ident)
	if !isText || !isName {
		return "", ""
	}
	return text.Value[1 : len(text.Value)-1], function.Name
}

func names(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		identifier, ok := n.(*ast.Ident)
		found = found || ok && identifier.Name == name
		return true
	})
	return found
}
