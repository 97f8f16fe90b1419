package localcluster

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func writeFile(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func TestFindToolsWalksUpToTheCheckout(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "go.mod"), "// a comment\nmodule coapply.dev\n", 0o644)
	nested := filepath.Join(root, "tools", "dev")
	writeFile(t, filepath.Join(nested, "go.mod"), "module coapply.dev/tools/dev\n", 0o644)
	got, err := findTools(nested)
	if want := filepath.Join(root, "tools"); got != want || err != nil {
		t.Errorf("findTools = %q, %v; want %q: a nested module is not the checkout", got, err, want)
	}
	if _, err := findTools(t.TempDir()); !errors.Is(err, ErrNoCheckout) {
		t.Errorf("outside a checkout: %v; want ErrNoCheckout", err)
	}
}
