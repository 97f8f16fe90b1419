package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

// TestCommitted: what make generate writes is committed.
func TestCommitted(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || string(got) != want {
			t.Errorf("%s is not as the contract and the CRDs have it: run make generate and commit (%v)", name, err)
		}
	}
}

func TestBetween(t *testing.T) {
	folder := t.TempDir()
	for name, content := range map[string]string{
		"a": "x:\n  " + begin + "\n  - old\n  " + end + "\ny\n",
		"b": "x:\n  " + begin + "\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := between(folder, "a", "  - new\n"); err != nil || got != "x:\n  "+begin+"\n  - new\n  "+end+"\ny\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := between(folder, "b", ""); err == nil || !strings.Contains(err.Error(), end) {
		t.Errorf("%v, want one that names the line that is missing", err)
	}
}

func TestElsewhere(t *testing.T) {
	if err := write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no CRDs") {
		t.Error(err)
	}
}
