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

// buildEnv makes the build independent of the user's settings: no C compiler, and only what
// go.sum pins. A go.work file or GOFLAGS of the user's would change what is built under the
// same name.
var buildEnv = []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"}

// compileFlags leaves out debug information, a quarter of the build cache. The Makefile
// compiles the commands in the same way, so that packages that they share with the control
// plane, half of theirs, are compiled once.
const compileFlags = "-gcflags=all=-dwarf=false"

// buildPace makes the compiler collect garbage less often, which saves a fifth of its time.
var buildPace = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

// versionFlags returns linker flags that set the version as Kubernetes' own build does. Without
// them kubectl and the server would report v0.0.0-master, and kwokctl chooses flags by the
// version that a binary reports.
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

// compile builds the program that has all of the control plane's binaries.
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

// goEnvironment returns the go command's folders, or ErrGoToolchain if there is no go command.
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

// countPackages returns how many packages a build compiles. It also downloads the modules, as
// go list needs their sources.
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
