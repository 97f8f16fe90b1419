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

func TestCheckoutIsAbove(t *testing.T) {
	root := t.TempDir()
	writeFile(t, filepath.Join(root, "go.mod"), "// a comment\nmodule coapply.dev\n", 0o644)
	nested := filepath.Join(root, "tools", "dev")
	writeFile(t, filepath.Join(nested, "go.mod"), "module coapply.dev/tools/dev\n", 0o644)
	if got, err := checkoutAbove(nested); got != root || err != nil {
		t.Errorf("checkoutAbove = %q, %v; want %q: a nested module is not the checkout", got, err, root)
	}
	if _, err := checkoutAbove(t.TempDir()); !errors.Is(err, ErrNoCheckout) {
		t.Errorf("outside a checkout: %v; want ErrNoCheckout", err)
	}
}
