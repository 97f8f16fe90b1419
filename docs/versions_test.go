package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the documents say is tested is what tools/cluster builds, and the client libraries are those of go.mod.
func TestVersionsAreThoseTested(t *testing.T) {
	modFiles, err := filepath.Glob(filepath.Join(root, "tools", "cluster", "*.mod"))
	if err != nil || len(modFiles) < 2 {
		t.Fatalf("%d versions of the control plane, %v", len(modFiles), err)
	}
	for _, modFile := range modFiles {
		kubernetes := requiredIn(t, modFile, "k8s.io/kubernetes")
		for _, page := range []string{"README.md", "docs/install.md", "docs/demo.md", "docs/managers.md"} {
			if !strings.Contains(proseOf(t, page), kubernetes) {
				t.Errorf("%s does not say that Kubernetes %s is tested", page, kubernetes)
			}
		}
	}
	minor := regexp.MustCompile(`^\d+\.\d+`)
	client := minor.FindString(requiredIn(t, filepath.Join(root, "go.mod"), "k8s.io/client-go"))
	runtime := minor.FindString(requiredIn(t, filepath.Join(root, "go.mod"), "sigs.k8s.io/controller-runtime"))
	for _, page := range []string{"docs/adopting.md", "docs/install.md"} {
		prose := strings.Join(strings.Fields(proseOf(t, page)), " ")
		if want := "client-go " + client + " and controller-runtime " + runtime; !strings.Contains(prose, want) {
			t.Errorf("%s does not say that the library needs %s", page, want)
		}
	}
}

// requiredIn returns the version that a go.mod requires of a module, without the v.
func requiredIn(t *testing.T, goMod, module string) string {
	t.Helper()
	content, err := os.ReadFile(goMod)
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(module) + ` v(\S+)$`).FindSubmatch(content)
	if match == nil {
		t.Fatalf("%s requires no %s", goMod, module)
	}
	return string(match[1])
}
