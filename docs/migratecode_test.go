package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMigrateCode holds steps 4 to 6 of docs/migrating.md to the program that
// test/integration runs.
func TestMigrateCode(t *testing.T) {
	program, err := os.ReadFile(filepath.Join(root, "examples", "migrate", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "migrating.md"))
	if err != nil {
		t.Fatal(err)
	}
	line := func(heading string) int {
		before, _, found := strings.Cut(string(text), heading)
		if !found {
			t.Fatalf("there is no heading %q", heading)
		}
		return strings.Count(before, "\n") + 1
	}
	shown, from, to := 0, line("\n## 4. "), line("\n### Children that")
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if d.path != "docs/migrating.md" || b.language != "go" || b.line < from || b.line > to {
				continue
			}
			shown++
			if !strings.Contains(string(program), "\n"+b.text) {
				t.Errorf("%s:%d: examples/migrate does not have it word for word", d.path, b.line)
			}
		}
	}
	if shown != 5 {
		t.Errorf("%d blocks of Go shown", shown)
	}
}
