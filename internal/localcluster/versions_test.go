package localcluster

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestChosenSource(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go.mod"), "module x\nrequire k8s.io/kubernetes v1.9.0\n", 0o644)
	writeFile(t, filepath.Join(dir, "older.mod"), "module x\nrequire k8s.io/kubernetes v1.8.2\n", 0o644)
	for _, test := range []struct{ reason, version, modFile string }{
		{"without a wish, that of go.mod", "", "go.mod"},
		{"the default can be asked for too", "1.9.0", "go.mod"},
		{"what another go.mod requires, whatever its name", "1.8.2", "older.mod"},
		{"as Kubernetes writes its versions", "v1.8.2", "older.mod"},
	} {
		got, err := chosenSource(dir, test.version)
		if err != nil || filepath.Base(got.modFile) != test.modFile {
			t.Errorf("K8S=%q: %q, %v; want %s: %s", test.version, got.modFile, err, test.modFile, test.reason)
		}
	}
	for _, unknown := range []string{"1.9", "latest", "1.8.20"} {
		_, err := chosenSource(dir, unknown)
		if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), unknown+"; choose 1.8.2 or 1.9.0") {
			t.Errorf("K8S=%q: %v; want ErrVersion, with the versions that there are", unknown, err)
		}
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

func TestNameChangesWithWhatIsBuilt(t *testing.T) {
	dir := t.TempDir()
	s := source{dir: dir, modFile: filepath.Join(dir, "a.mod"), kubernetes: "v1.2.3"}
	for _, file := range []string{"a.mod", "a.sum", "main.go"} {
		writeFile(t, filepath.Join(dir, file), "one\n", 0o644)
	}
	name := func(s source) string {
		t.Helper()
		got, err := s.name()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := name(s)
	if again := name(s); again != before || !strings.HasPrefix(before, "v1.2.3-") {
		t.Errorf("the same build is named %s and %s, want v1.2.3- and a hash", before, again)
	}
	for _, file := range []string{"a.mod", "a.sum", "main.go"} {
		writeFile(t, filepath.Join(dir, file), "two\n", 0o644)
		if other := name(s); other == before {
			t.Errorf("another %s keeps the name", file)
		}
		writeFile(t, filepath.Join(dir, file), "one\n", 0o644)
	}
}

// A library at two versions is compiled twice, and so is all that stands on it.
func TestControlPlaneHasOurVersionsOfLibraries(t *testing.T) {
	ours, theirs := moduleVersions(t, "../../go.mod"), moduleVersions(t, "../../tools/cluster/go.mod")
	shared := 0
	for module, version := range ours {
		other, both := theirs[module]
		if both {
			shared++
		}
		if both && other != version {
			t.Errorf("%s is at %s in go.mod and at %s in tools/cluster/go.mod: go get %s@%s in the folder of the earlier one",
				module, version, other, module, max(version, other))
		}
	}
	if shared < 50 {
		t.Errorf("%d modules are in both: this test does not read go.mod as it is", shared)
	}
}

// moduleVersions returns what a go.mod requires, as it is replaced.
func moduleVersions(t *testing.T, goMod string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(goMod)
	if err != nil {
		t.Fatal(err)
	}
	required, replaced := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(content)) {
		switch fields := strings.Fields(line); {
		case len(fields) == 4 && fields[1] == "=>":
			replaced[fields[0]] = fields[3]
		case len(fields) >= 2 && strings.HasPrefix(fields[1], "v"):
			required[fields[0]] = fields[1]
		}
	}
	maps.Copy(required, replaced)
	return required
}
