package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verbatim is a document whose Go is compiled code, word for word; where that has
// names of other files, it would not compile on its own.
const verbatim = "docs/writing-a-reconciler.md"

// TestReconcilerCode holds what the document shows to what test/integration runs.
func TestReconcilerCode(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "examples", "website", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var compiled strings.Builder
	for _, file := range append(files, filepath.Join(root, "test", "integration", "platform", "example_test.go")) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compiled.Write(content)
	}
	shown := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if d.path != verbatim || b.language != "go" {
				continue
			}
			shown++
			if !strings.Contains(compiled.String(), "\n"+b.text) {
				t.Errorf("%s:%d: no file of the example has it word for word", d.path, b.line)
			}
		}
	}
	if shown < 5 {
		t.Errorf("only %d blocks of Go shown", shown)
	}
}
