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
	packages, err := countPackages(ctx, from)
	if err != nil {
		return err
	}
	meter := startMeter(progress, packages)
	defer func() { meter.stop(err) }()
	args := append([]string{"build", "-v", "-o", program}, from.flags()...)
	return runGo(ctx, from.dir, io.Discard, &meter.compiled, args...)
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
		return fmt.Errorf("%w: install the version that %s asks for: %w", ErrGoToolchain, filepath.Join(dir, "go.mod"), err)
	}
	return fmt.Errorf("%w: go %s in %s: %w\n%s", ErrBuild, args[0], dir, err, last)
}

// lastLines keeps the end of what is written to it, for an error message. It leaves out what go build -v prints for every
// package, which would push out the reason, and counts that.
type lastLines struct {
	keep     int
	compiled *atomic.Int64 // may be nil
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

// isPackageLine reports whether a line is an import path, as go build -v prints for each
// package.
func isPackageLine(line string) bool {
	return line != "" && !strings.ContainsAny(line, " \t:#")
}

// linePeriod is how often a build prints its progress if the output is no terminal.
const linePeriod = 15 * time.Second

// meter shows how many packages are compiled. Packages that the build cache has are never counted, so a build may well
// end before the count reaches the total.
type meter struct {
	compiled atomic.Int64
	total    int
	started  time.Time
	bar      *progressbar.ProgressBar // nil: lines instead
	out      io.Writer
	quit     chan struct{}
	quitted  chan struct{}
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

// report draws once a second on a terminal, so that the elapsed time moves while the linker, which prints nothing, is
// at work.
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
		_ = m.bar.Set(min(compiled, m.total-1)) // a full bar would clear itself while the linker still runs
		return
	}
	fmt.Fprintf(m.out, "compiled %d of %d packages, %s elapsed\n", compiled, m.total, time.Since(m.started).Round(time.Second))
}

// stop ends the display. It prints the end only of a build that succeeded.
func (m *meter) stop(failure error) {
	close(m.quit)
	<-m.quitted
	if m.bar != nil {
		_ = m.bar.Clear()
	}
	if failure != nil {
		return
	}
	fmt.Fprintf(m.out, "built in %s: %d packages compiled, the others were in Go's build cache\n",
		time.Since(m.started).Round(time.Second), m.compiled.Load())
}
