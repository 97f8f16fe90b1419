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

func TestRequiredVersion(t *testing.T) {
	goMod := filepath.Join(t.TempDir(), "go.mod")
	writeFile(t, goMod, `module x
replace k8s.io/api => k8s.io/api v0.0.1
tool k8s.io/kubernetes/cmd/kubectl
require k8s.io/single v1.2.3
require (
	k8s.io/kubernetes v1.36.3
)
`, 0o644)
	for module, want := range map[string]string{
		"k8s.io/kubernetes": "v1.36.3", "k8s.io/single": "v1.2.3", "k8s.io/api": "", "k8s.io/missing": "",
	} {
		got, err := requiredVersion(goMod, module)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("requiredVersion(%s) = %q, %v; want %q", module, got, err, want)
		}
	}
}

func TestVersionedNameChangesWithWhatIsBuilt(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module x\n", 0o644)
	writeFile(t, filepath.Join(dir, "go.sum"), "one\n", 0o644)
	name := func(ldflags string) string {
		t.Helper()
		got, err := versionedName("v1.2.3", []toolBuild{{dir: dir, ldflags: ldflags}})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := name("-s")
	if again := name("-s"); again != before {
		t.Errorf("the same build is named %s and %s", before, again)
	}
	if other := name("-w"); other == before {
		t.Error("other linker flags keep the name")
	}
	writeFile(t, filepath.Join(dir, "go.sum"), "two\n", 0o644)
	if other := name("-s"); other == before {
		t.Error("another go.sum keeps the name")
	}
}
