package localcluster

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo puts a script in the place of the go command.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "go"), "#!/bin/sh\n"+script, 0o755)
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestRunGoClassifiesFailures(t *testing.T) {
	for _, test := range []struct {
		reason, prints string
		want           error
	}{
		{"a full disk is told apart", "link: write x: no space left on device", ErrDiskSpace},
		{"an old Go names the version it lacks", "go: go.mod requires go >= 1.99.0 (running go 1.26.8)", ErrGoToolchain},
		{"anything else hands on what go said", "dial tcp: connection refused", ErrBuild},
	} {
		t.Run(test.prints, func(t *testing.T) {
			fakeGo(t, "echo k8s.io/api/core/v1 >&2; echo '"+test.prints+"' >&2; exit 1")
			err := runGo(t.Context(), t.TempDir(), io.Discard, nil, "build")
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.prints) {
				t.Errorf("runGo = %v; want %v with go's line: %s", err, test.want, test.reason)
			}
			if err != nil && strings.Contains(err.Error(), "core/v1") {
				t.Errorf("runGo = %v; package names hide the reason", err)
			}
		})
	}
}

func TestVersionFlags(t *testing.T) {
	flags := versionFlags("v1.36.3")
	for _, want := range []string{
		"-X k8s.io/component-base/version.gitVersion=v1.36.3", "-X k8s.io/client-go/pkg/version.gitMinor=36",
	} {
		if !strings.Contains(flags, want) {
			t.Errorf("versionFlags = %q; want %q in it", flags, want)
		}
	}
}

// Otherwise Go compiles what both need twice, which takes minutes and a gigabyte.
func TestMakefileCompilesAsTheControlPlaneIs(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nexport CGO_ENABLED = 0\n", "\nexport GOFLAGS := ", " " + compileFlags + "\n"} {
		if !strings.Contains(string(makefile), want) {
			t.Errorf("the Makefile lacks %q", want)
		}
	}
	if buildEnv[0] != "CGO_ENABLED=0" {
		t.Errorf("the control plane is built with %q", buildEnv)
	}
}

func TestMeterCountsPackagesOnly(t *testing.T) {
	var out bytes.Buffer
	m := startMeter(&out, 9)
	l := &lastLines{keep: 2, compiled: &m.compiled}
	for _, part := range []string{"k8s.io/api/co", "re/v1\nruntime\ngo: downloading x v1\n", "# k8s.io/broken\nx.go:1:2: oops\n"} {
		if _, err := l.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	m.show()
	m.stop(errors.New("failed"))
	if got := out.String(); !strings.Contains(got, "compiled 2 of 9 packages") || strings.Contains(got, "built in") {
		t.Errorf("meter printed %q; want 2 of 9 packages and no success", got)
	}
}

func TestLastLinesKeepsTheEnd(t *testing.T) {
	l := &lastLines{keep: 2}
	for _, part := range []string{"a 1\nb 2\nc", " 3\n\nd 4"} {
		_, _ = l.Write([]byte(part))
	}
	if got, want := l.String(), "b 2\nc 3\nd 4"; got != want {
		t.Errorf("lastLines = %q; want %q", got, want)
	}
}
