package localcluster

import (
	"bytes"
	"context"
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

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// buildEnv contains environment variables that make the build independent of the user's settings: the build uses no
// C compiler, and only the modules that go.sum pins. The user's go.work file or GOFLAGS could otherwise change the
// binaries without changing the name of the build folder.
var buildEnv = []string{"CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off"}

// compileFlags leaves out debug information, which would take up a quarter of Go's build cache. The Makefile
// compiles coapply's commands with the same flags, so that packages of both builds are compiled only once.
const compileFlags = "-gcflags=all=-dwarf=false"

// buildPace contains environment variables that make the compiler collect garbage less often. The build is a fifth
// faster.
var buildPace = []string{"GOGC=400", "GOMEMLIMIT=2GiB"}

// versionFlags returns linker flags that set the version of the binaries, as the build of Kubernetes
// does. Without these flags the binaries would report v0.0.0-master. kwokctl chooses the flags of a
// component by the version that its binary reports.
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

// compile builds program, one executable that contains all binaries of the control plane.
func compile(ctx context.Context, program string, from source, progress io.Writer) (err error) {
	fmt.Fprintf(progress, "building the control plane of Kubernetes %s (takes minutes, once for each version)\n", from.kubernetes)
	packages, err := countPackages(ctx, from)
	if err != nil {
		return err
	}
	meter := startMeter(progress, packages)
	defer func() { meter.stop(err) }()
	args := append([]string{"build", "-v", "-o", program}, from.flags()...)
	return runGo(ctx, from.dir, io.Discard, &meter.compiled, args...)
}

// countPackages returns the number of packages in the build. It also downloads the modules, because go list needs them.
func countPackages(ctx context.Context, from source) (int, error) {
	var out bytes.Buffer
	args := append([]string{"list", "-deps"}, from.flags()...)
	if err := runGo(ctx, from.dir, &out, nil, args...); err != nil {
		return 0, err
	}
	return bytes.Count(out.Bytes(), []byte("\n")), nil
}

// runGo runs a go command in the given folder. If the given counter is not nil, runGo adds the number of compiled
// packages to the counter. If the command fails, the error contains the last lines of the command's output.
func runGo(ctx context.Context, dir string, stdout io.Writer, compiled *atomic.Int64, args ...string) error {
	last := &lastLines{keep: 12, compiled: compiled}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(os.Environ(), buildEnv, buildPace)
	cmd.Stdout, cmd.Stderr = stdout, last
	// After SIGINT, unlike after SIGKILL, go removes its work folder in TMPDIR, which has hundreds of megabytes.
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
		return fmt.Errorf("%w: install the Go version that %s requires: %w", ErrGoToolchain, filepath.Join(dir, "go.mod"), err)
	}
	return fmt.Errorf("%w: go %s in %s: %w\n%s", ErrBuild, args[0], dir, err, last)
}

// lastLines is a writer that keeps the last lines written to it, for an error message. Import
// paths, which go build -v prints for each compiled package, are only counted.
type lastLines struct {
	keep     int           // the number of lines to keep
	compiled *atomic.Int64 // counts the import paths; nil if they need not be counted
	lines    []string
	partial  []byte
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.partial = append(l.partial, p...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			return len(p), nil
		}
		l.add(string(line))
		l.partial = rest
	}
}

func (l *lastLines) add(line string) {
	if isPackageLine(line) && l.compiled != nil {
		l.compiled.Add(1)
	}
	if line == "" || isPackageLine(line) || strings.HasPrefix(line, "go: downloading ") {
		return
	}
	l.lines = append(l.lines, line)
	if extra := len(l.lines) - l.keep; extra > 0 {
		l.lines = l.lines[extra:]
	}
}

func (l *lastLines) mention(text string) bool { return strings.Contains(l.String(), text) }

func (l *lastLines) String() string {
	lines := l.lines
	if len(l.partial) > 0 {
		lines = append(slices.Clip(lines), string(l.partial))
	}
	return strings.Join(lines, "\n")
}

// isPackageLine reports whether a line is an import path. go build -v prints the path of each compiled package.
func isPackageLine(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:#")
}

// linePeriod is the time between two lines of progress. A terminal shows a progress bar instead.
const linePeriod = 15 * time.Second

// meter prints the progress of a build: the number of packages compiled so far. Packages in Go's build cache do not
// count, so the build may end before this number reaches the total.
type meter struct {
	compiled atomic.Int64
	total    int
	started  time.Time
	bar      *progressbar.ProgressBar // nil if progress is printed as lines, not as a bar
	out      io.Writer
	quit     chan struct{} // closed by stop to end the method report
	quitted  chan struct{} // closed when the method report has ended
}

func startMeter(out io.Writer, total int) *meter {
	m := &meter{total: total, started: time.Now(), out: out, quit: make(chan struct{}), quitted: make(chan struct{})}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		m.bar = newBar(out, total)
	}
	go m.report()
	return m
}

func newBar(out io.Writer, total int) *progressbar.ProgressBar {
	return progressbar.NewOptions(total,
		progressbar.OptionSetWriter(out),
		progressbar.OptionSetDescription("compiling packages"),
		progressbar.OptionShowCount(),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionFullWidth(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
	)
}

// report prints the progress periodically until stop is called. On a terminal it prints once a second, so that the
// elapsed time advances even while the linker runs without output.
func (m *meter) report() {
	defer close(m.quitted)
	period := linePeriod
	if m.bar != nil {
		period = time.Second
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-ticker.C:
			m.show()
		}
	}
}

func (m *meter) show() {
	compiled := int(m.compiled.Load())
	if m.bar != nil {
		_ = m.bar.Set(min(compiled, m.total-1)) // a full bar would disappear while the linker still runs
		return
	}
	fmt.Fprintf(m.out, "compiled %d of %d packages, %s elapsed\n", compiled, m.total, time.Since(m.started).Round(time.Second))
}

// stop ends report. If failure is nil, it also prints a summary of the build.
func (m *meter) stop(failure error) {
	close(m.quit)
	<-m.quitted
	if m.bar != nil {
		_ = m.bar.Clear()
	}
	if failure != nil {
		return
	}
	fmt.Fprintf(m.out, "built in %s: %d packages compiled, the other packages were in Go's build cache\n",
		time.Since(m.started).Round(time.Second), m.compiled.Load())
}
