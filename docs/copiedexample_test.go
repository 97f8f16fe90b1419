package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCopiedExample does what docs/writing-a-reconciler.md says of copying its example:
// what the copy runs is the copy, and nothing of the example.
func TestCopiedExample(t *testing.T) {
	site := filepath.Join(t.TempDir(), "site")
	if err := os.CopyFS(site, os.DirFS(filepath.Join(root, "examples", "website"))); err != nil {
		t.Fatal(err)
	}
	rename := ""
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			for line := range strings.Lines(b.text) {
				if d.path == verbatim && strings.HasPrefix(line, "sed ") {
					rename = line
				}
			}
		}
	}
	inCopy := func(name string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir, command.Stderr = site, os.Stderr
		command.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off")
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%s %q: %v", name, args, err)
		}
		return string(out)
	}
	inCopy("sh", "-c", rename)
	library, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"go.mod", "go.sum"} { // go mod tidy would ask for versions
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(site, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inCopy("go", "mod", "edit", "-module=example.com/site", "-require=coapply.dev@v0.0.0", "-replace=coapply.dev="+library)
	used := strings.Fields(inCopy("go", "list", "-deps", "./manager"))
	if !slices.Contains(used, "example.com/site") || slices.Contains(used, "coapply.dev/examples/website") {
		t.Errorf("the copy's command runs another reconciler than the copy's: %q", slices.DeleteFunc(used, func(p string) bool {
			return !strings.Contains(p, "site")
		}))
	}
	inCopy("go", "vet", "./...")
}
