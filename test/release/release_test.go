// Package release tests what a release consists of: archives that do not depend on where and when they were built,
// and modules that go install takes from a module proxy.
package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"coapply.dev/test/kit"
)

const version = "v0.1.0"

// TestRelease builds a release twice, of two clones in different folders.
func TestRelease(t *testing.T) {
	kit.ForSoak(t)
	first, second := clone(t, "first"), clone(t, "another-folder")
	for _, bad := range []struct{ arguments, tag, want string }{
		{"", "", "VERSION and URL are missing"},
		{"VERSION=0.1.0 URL=https://example.com", "", "is not a semantic version"},
		{"VERSION=v9.9.9 URL=https://example.com", "", "the tag v9.9.9 does not name this commit"},
		{"VERSION=v9.9.8 URL=https://example.com", "v9.9.8", "the tag cmd/ownlint/v9.9.8 does not name this commit"},
		{"VERSION=v0.1.0 URL=https://example.com IMG=example.com/manager:v0.1.0", "", "has a tag"},
	} {
		if bad.tag != "" {
			run(t, first, "git", "tag", bad.tag)
		}
		out, err := command(first, "make", append([]string{"-s", "release"}, strings.Fields(bad.arguments)...)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), bad.want) {
			t.Errorf("make release %s printed %q, %v; want an error with %q", bad.arguments, out, err, bad.want)
		}
	}
	kubectl := strings.TrimSpace(run(t, filepath.Join("..", ".."), "go", "run", "./cmd/platform", "build"))
	for _, dir := range []string{first, second} {
		run(t, dir, "make", "release", "VERSION="+version, "URL=https://example.com/v0.1.0", "KUBECTL="+kubectl,
			"PLATFORMS=windows/arm64 "+runtime.GOOS+"/"+runtime.GOARCH)
	}
	files := filesOf(t, filepath.Join(first, "dist"))
	if again := filesOf(t, filepath.Join(second, "dist")); !slices.Equal(files, again) {
		t.Fatalf("the second build has other files: %q and %q", files, again)
	}
	if want := 7; len(files) != want { // two programs for two platforms, the krew manifest, install.yaml, checksums
		t.Errorf("a release has %d files, want %d: %q", len(files), want, files)
	}
	for _, file := range files {
		if !bytes.Equal(read(t, first, "dist", file), read(t, second, "dist", file)) {
			t.Errorf("%s differs between two builds of one commit", file)
		}
	}
	run(t, filepath.Join(first, "dist"), "sha256sum", "-c", "checksums.txt")
	for program, argument := range map[string]string{"kubectl-fieldowners": "version", "ownlint": "-version"} {
		archive := filepath.Join(first, "dist", program+"_"+version+"_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
		checkVersion(t, unpack(t, archive, program), argument)
	}
}

// TestGoInstall installs the programs of a release from a module proxy that is a folder.
func TestGoInstall(t *testing.T) {
	kit.ForSoak(t)
	checkout, proxy := clone(t, "tagged"), t.TempDir()
	publish(t, checkout, ".", filepath.Join(proxy, "coapply.dev"))
	publish(t, checkout, "cmd/ownlint", filepath.Join(proxy, "coapply.dev", "cmd", "ownlint"))
	cache := strings.TrimSpace(run(t, checkout, "go", "env", "GOMODCACHE"))
	elsewhere := strings.TrimSpace(run(t, checkout, "go", "env", "GOPROXY"))
	bin := t.TempDir()
	for program, argument := range map[string]string{"kubectl-fieldowners": "version", "ownlint": "-version"} {
		// In a folder without a module. The module cache is new, because this v0.1.0 must not stay in the user's.
		install := command(t.TempDir(), "go", "install", "-modcacherw", "coapply.dev/cmd/"+program+"@"+version)
		install.Env = append(install.Environ(), "GOBIN="+bin, "GOFLAGS=", "GOWORK=off", "GOSUMDB=off", "GOMODCACHE="+t.TempDir(),
			"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download")+","+elsewhere)
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", install, err, out)
		}
		checkVersion(t, filepath.Join(bin, program), argument)
	}
}

// publish writes a module of the checkout, as it is committed, to the folder of the module in a proxy.
func publish(t *testing.T, checkout, dir, folder string) {
	t.Helper()
	versions, module := filepath.Join(folder, "@v"), filepath.Join(checkout, dir)
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(string(read(t, module, "go.mod")), "module "), "\n")
	arguments := []string{"archive", "--format=zip", "--prefix=" + name + "@" + version + "/", "-o", filepath.Join(versions, version+".zip"), "HEAD", "."}
	for nested := range strings.FieldsSeq(run(t, module, "git", "ls-files", "*/go.mod")) {
		arguments = append(arguments, ":!"+filepath.Dir(nested))
	}
	run(t, module, "git", arguments...)
	write(t, filepath.Join(versions, version+".mod"), string(read(t, module, "go.mod")))
	write(t, filepath.Join(versions, version+".info"), `{"Version":"`+version+`","Time":"2026-01-02T03:04:05Z"}`)
	write(t, filepath.Join(versions, "list"), version+"\n")
}

// clone returns a clone of this checkout, as it is committed, with the tags of a release.
func clone(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	run(t, ".", "git", "clone", "-q", filepath.Join("..", ".."), dir)
	run(t, dir, "git", "tag", version)
	run(t, dir, "git", "tag", "cmd/ownlint/"+version)
	return dir
}

func checkVersion(t *testing.T, program, argument string) {
	t.Helper()
	if out := run(t, ".", program, argument); !strings.Contains(out, " "+version+" ") {
		t.Errorf("%s %s printed %q, want %s", filepath.Base(program), argument, out, version)
	}
}

// unpack writes one file of an archive to a folder, and returns its path.
func unpack(t *testing.T, archive, name string) string {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, archive)))
	if err != nil {
		t.Fatal(err)
	}
	for entries := tar.NewReader(zipped); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("%s has no %s", archive, name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(entry.Name) != name {
			continue
		}
		content, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, fs.FileMode(entry.Mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
}

func command(dir, name string, arguments ...string) *exec.Cmd {
	c := exec.Command(name, arguments...)
	c.Dir = dir
	return c
}

func run(t *testing.T, dir, name string, arguments ...string) string {
	t.Helper()
	c := command(dir, name, arguments...)
	var failed bytes.Buffer
	c.Stderr = &failed
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", c, err, out, failed.String())
	}
	return string(out)
}

func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
