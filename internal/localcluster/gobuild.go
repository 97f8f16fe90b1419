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
	"strings"
	"time"
)

// buildEnv makes the build independent of the user's settings: no C compiler, and nothing but what go.sum pins.
// A go.work file or GOFLAGS of the user's would change what is built under a name that promises otherwise.
var buildEnv = []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"}

// toolBuild compiles the tools of one nested module.
type toolBuild struct {
	dir     string
	ldflags string
}

func (b toolBuild) flags() []string {
	return []string{"-trimpath", "-ldflags", b.ldflags}
}

func toolBuilds(tools, kubernetes string) []toolBuild {
	return []toolBuild{
		{dir: filepath.Join(tools, "kwok"), ldflags: "-s -w"},
		{dir: filepath.Join(tools, "cluster"), ldflags: "-s -w" + versionFlags(kubernetes)},
	}
}

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

// compile builds all tools into dir.
func compile(ctx context.Context, dir string, builds []toolBuild, progress io.Writer) (err error) {
	fmt.Fprintln(progress, "building the control plane (a few minutes, once for each version):", filepath.Dir(dir))
	env, err := goEnvironment(ctx, builds[0].dir)
	if err != nil {
		return err
	}
	if err := checkBuildSpace(filepath.Dir(dir), env); err != nil {
		return err
	}
	total := 0
	for _, b := range builds {
		packages, err := countPackages(ctx, b)
		if err != nil {
			return err
		}
		total += packages
	}
	meter := startMeter(progress, total)
	defer func() { meter.stop(err) }()
	for _, b := range builds {
		args := append(append([]string{"build", "-v"}, b.flags()...), "-o", dir+string(filepath.Separator), "tool")
		if err := runGo(ctx, b.dir, io.Discard, meter, args...); err != nil {
			return err
		}
	}
	return nil
}

// goEnvironment also finds out whether there is a go command at all.
func goEnvironment(ctx context.Context, dir string) (goFolders, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return goFolders{}, fmt.Errorf("%w: go is not on the PATH; install the version that %s asks for: %w",
			ErrGoToolchain, filepath.Join(dir, "go.mod"), err)
	}
	var out bytes.Buffer
	if err := runGo(ctx, dir, &out, io.Discard, "env", "-json", "GOCACHE", "GOMODCACHE"); err != nil {
		return goFolders{}, fmt.Errorf("%w: %w", ErrGoToolchain, err)
	}
	var folders goFolders
	if err := json.Unmarshal(out.Bytes(), &folders); err != nil {
		return goFolders{}, fmt.Errorf("%w: reading go env: %w", ErrGoToolchain, err)
	}
	return folders, nil
}

// countPackages downloads the modules as well: go list needs their sources.
func countPackages(ctx context.Context, b toolBuild) (int, error) {
	var out bytes.Buffer
	if err := runGo(ctx, b.dir, &out, io.Discard, "list", "-deps", "tool"); err != nil {
		return 0, err
	}
	return bytes.Count(out.Bytes(), []byte("\n")), nil
}

// runGo runs a go command in dir and hands on the last lines that it printed if it fails.
func runGo(ctx context.Context, dir string, stdout, stderr io.Writer, args ...string) error {
	last := &lastLines{keep: 12}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), buildEnv...)
	cmd.Stdout = stdout
	cmd.Stderr = io.MultiWriter(last, stderr)
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
