package localcluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// emptyCache gives the test a cache folder of its own, no prebuilt binaries and no go command.
func emptyCache(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv(assetsVariable, "")
	t.Setenv("PATH", "")
}

func fakeBinaries(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		writeFile(t, path, "#!/bin/sh\n", 0o755)
	}
}

func TestEnsureUsesWhatIsBuiltWithoutTheGoCommand(t *testing.T) {
	emptyCache(t)
	dir, _, err := chosenBuild()
	if err != nil {
		t.Fatal(err)
	}
	fakeBinaries(t, binariesIn(dir).all())
	var progress bytes.Buffer
	got, err := Ensure(t.Context(), &progress)
	if got != binariesIn(dir) || err != nil || progress.Len() != 0 {
		t.Errorf("Ensure = %+v, %v, printing %q; want the binaries in %s, silently", got, err, &progress, dir)
	}
}

func TestEnsureBuildsAgainWhatIsIncomplete(t *testing.T) {
	emptyCache(t)
	dir, _, err := chosenBuild()
	if err != nil {
		t.Fatal(err)
	}
	fakeBinaries(t, binariesIn(dir).all())
	if err := os.Remove(binariesIn(dir).Kwok); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(filepath.Dir(dir), unfinished+"stale")
	writeFile(t, filepath.Join(stale, "etcd"), "half", 0o755)
	var progress bytes.Buffer
	_, err = Ensure(t.Context(), &progress)
	if !errors.Is(err, ErrGoToolchain) {
		t.Errorf("Ensure = %v; want ErrGoToolchain: there is no go command to build with", err)
	}
	if !strings.Contains(progress.String(), binariesIn(dir).Kwok) {
		t.Errorf("Ensure printed %q; want the missing binary's path", &progress)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), unfinished+"*")); len(left) != 0 {
		t.Errorf("unfinished folders left: %v", left)
	}
}

func TestAssetsFolder(t *testing.T) {
	emptyCache(t)
	dir, _, err := chosenBuild()
	if err != nil {
		t.Fatal(err)
	}
	fakeBinaries(t, binariesIn(dir).all())
	assets := t.TempDir()
	t.Setenv(assetsVariable, assets)
	fakeBinaries(t, binariesIn(assets).apiServer())
	got, err := Ensure(t.Context(), &bytes.Buffer{})
	want := binariesIn(dir)
	want.Etcd, want.KubeAPIServer, want.Kubectl =
		filepath.Join(assets, "etcd"), filepath.Join(assets, "kube-apiserver"), filepath.Join(assets, "kubectl")
	if got != want || err != nil {
		t.Errorf("Ensure = %+v, %v; want %+v", got, err, want)
	}
	if err := os.Chmod(want.KubeAPIServer, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(t.Context(), &bytes.Buffer{}); !errors.Is(err, ErrMissingBinary) ||
		!strings.Contains(err.Error(), want.KubeAPIServer) || !strings.Contains(err.Error(), assetsVariable) {
		t.Errorf("Ensure = %v; want ErrMissingBinary naming %s and the variable", err, want.KubeAPIServer)
	}
}
