package localcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// buildEnv makes the build independent of the user's settings: no C compiler, and nothing but what go.sum pins.
// A go.work file or GOFLAGS of the user's would change what is built under a name that promises otherwise.
var buildEnv = []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"}

// compileFlags leaves out what only a debugger reads, a quarter of the build cache. The Makefile compiles the commands
// with it too and without cgo: half of their packages are the control plane's, and are compiled once.
const compileFlags = "-gcflags=all=-dwarf=false"

// buildPace has the compiler collect its garbage less often, which takes a fifth off its time. What is built is the same.
var buildPace = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

// versionFlags stamps the version as Kubernetes' own build does: a module build does not know it, kubectl and the
// server would call themselves v0.0.0-master, and kwokctl chooses flags by the version that a binary reports.
func versionFlags(kubernetes string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	var flags strings.Builder
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		for _, v := range [][2]string{
			{"gitVersion", kubernetes}, {"gitMajor", major}, {"gitMinor", minor}, {"gitCommit", ""}, {"gitTreeState", "clean"},
		} {
			fmt.Fprintf(&flags, " -X %s.%s=%s", pkg, v[0], v[1])
		}
	}
	return flags.String()
}

// compile builds the program that is all of the control plane's.
func compile(ctx context.Context, program string, from source, progress io.Writer) (err error) {
	fmt.Fprintf(progress, "building the control plane of Kubernetes %s (minutes, once for each version)\n", from.kubernetes)
	env, err := goEnvironment(ctx, from.dir)
	if err != nil {
		return err
	}
	if err := checkBuildSpace(filepath.Dir(program), env); err != nil {
		return err
	}
	packages, err := countPackages(ctx, from)
	if err != nil {
		return err
	}
	meter := startMeter(progress, packages)
	defer func() { meter.stop(err) }()
	args := append([]string{"build", "-v", "-o", program}, from.flags()...)
	return runGo(ctx, from.dir, io.Discard, &meter.compiled, args...)
}

// goEnvironment also finds out whether there is a go command at all.
func goEnvironment(ctx context.Context, dir string) (goFolders, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return goFolders{}, fmt.Errorf("%w: go is not on the PATH; install the version that %s asks for: %w",
			ErrGoToolchain, filepath.Join(dir, "go.mod"), err)
	}
	var out bytes.Buffer
	if err := runGo(ctx, dir, &out, nil, "env", "-json", "GOCACHE", "GOMODCACHE"); err != nil {
		return goFolders{}, fmt.Errorf("%w: %w", ErrGoToolchain, err)
	}
	var folders goFolders
	if err := json.Unmarshal(out.Bytes(), &folders); err != nil {
		return goFolders{}, fmt.Errorf("%w: reading go env: %w", ErrGoToolchain, err)
	}
	return folders, nil
}

// countPackages downloads the modules as well: go list needs their sources.
func countPackages(ctx context.Context, from source) (int, error) {
	var out bytes.Buffer
	args := append([]string{"list", "-deps"}, from.flags()...)
	if err := runGo(ctx, from.dir, &out, nil, args...); err != nil {
		return 0, err
	}
	return bytes.Count(out.Bytes(), []byte("\n")), nil
}

// runGo runs a go command in dir and hands on the last lines that it printed if it fails.
func runGo(ctx context.Context, dir string, stdout io.Writer, compiled *atomic.Int64, args ...string) error {
	last := &lastLines{keep: 12, compiled: compiled}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), buildEnv, buildPace)
	cmd.Stdout, cmd.Stderr = stdout, last
	// SIGINT lets go remove its work folder in TMPDIR, which a linker leaves hundreds of megabytes in.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrBuild, context.Cause(ctx))
	case last.mention("go.mod requires go"):
		return fmt.Errorf("%w: %w\n%s", ErrGoToolchain, err, last)
	case last.mention("no space left on device"):
		return fmt.Errorf("%w: %w: %w\n%s", ErrBuild, ErrDiskSpace, err, last)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); !exited {
		return fmt.Errorf("%w: %w", ErrGoToolchain, err)
	}
	return fmt.Errorf("%w: go %s in %s: %w\n%s", ErrBuild, args[0], dir, err, last)
}
