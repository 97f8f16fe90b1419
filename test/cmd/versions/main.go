// Command versions runs the same tests on each version of Kubernetes in tools/cluster. It prints a table of results, and
// each test whose result is not the same on all versions. The command fails if a test fails that groups.go does not
// expect to fail, or if a test does not fail that groups.go expects to fail.
//
//	go run ./test/cmd/versions -kubernetes 1.36.3,1.37.2 -only decisions,transfers
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// group is a named set of tests of one package.
type group struct {
	name, pkg, tests string
	whole            bool // also runs the tests that go test -short skips
}

func main() { os.Exit(run()) }

func run() int {
	kubernetes := flag.String("kubernetes", "", "versions, separated by commas; default: all versions in tools/cluster")
	only := flag.String("only", "", "groups, separated by commas; default: all of "+strings.Join(names(), ", "))
	logFile := flag.String("log", filepath.Join(os.TempDir(), "versions.log"), "`file` for the output of the tests")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log, err := os.Create(*logFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		return 2
	}
	defer log.Close()
	all, err := chosen(*kubernetes, *only)
	if err == nil {
		err = all.build(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "versions:", err)
		return 2
	}
	for _, version := range all.versions {
		if err := all.test(ctx, version, log); err != nil {
			fmt.Fprintf(os.Stderr, "versions: Kubernetes %s: %v\n", version, err)
			return 1
		}
	}
	all.print(os.Stdout)
	lines, wrong := all.differences(expected)
	for _, line := range lines {
		fmt.Println(line)
	}
	if wrong > 0 {
		fmt.Fprintf(os.Stderr, "versions: %d results are not expected; the output of the tests is in %s; if a version of "+
			"Kubernetes behaves differently, list the test in test/cmd/versions/groups.go, with the reason\n", wrong, *logFile)
		return 1
	}
	return 0
}

func names() (all []string) {
	for _, g := range groups {
		all = append(all, g.name)
	}
	return all
}

// chosen returns an empty table of the given versions and groups. By default it has all of them.
func chosen(kubernetes, only string) (*table, error) {
	t := &table{groups: groups, of: map[string]map[string]results{}}
	var err error
	if t.versions, err = localcluster.Versions(); err != nil {
		return nil, err
	}
	if os.Getenv("KUBEBUILDER_ASSETS") != "" {
		return nil, errors.New("unset KUBEBUILDER_ASSETS: its binaries would be tested instead of those of each version")
	}
	if kubernetes != "" {
		t.versions = strings.Split(kubernetes, ",")
	}
	if only == "" {
		return t, nil
	}
	t.groups = nil
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no group is called %q; there are: %s", name, strings.Join(names(), ", "))
		}
		t.groups = append(t.groups, groups[i])
	}
	return t, nil
}

// build builds the versions that have not been built, which takes minutes each.
func (t *table) build(ctx context.Context) error {
	for _, version := range t.versions {
		if err := os.Setenv("K8S", version); err != nil {
			return err
		}
		if _, err := localcluster.Ensure(ctx, os.Stderr); err != nil {
			return err
		}
	}
	return nil
}

// test runs the groups on a control plane of the given version.
func (t *table) test(ctx context.Context, version string, log io.Writer) error {
	if err := os.Setenv("K8S", version); err != nil {
		return err
	}
	shared, err := kit.Share(ctx)
	defer kit.StopAll()
	if err != nil {
		return err
	}
	t.of[version] = map[string]results{}
	for _, g := range t.groups {
		began := time.Now()
		found, err := g.test(ctx, shared, log)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		t.of[version][g.name] = found
		fmt.Fprintf(os.Stderr, "Kubernetes %s: %s: %v after %v\n", version, g.name, found, time.Since(began).Round(time.Second))
	}
	return nil
}

func (g group) test(ctx context.Context, environment []string, log io.Writer) (results, error) {
	command := exec.CommandContext(ctx, "go", "test", "-json", fmt.Sprintf("-short=%t", !g.whole), "-count=1", "-timeout=30m", "-parallel=6",
		"-run", "^Test("+g.tests+")$", g.pkg)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // go test leaves its tests running when it is told to end
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGINT) }
	command.Env = append(os.Environ(), environment...)
	command.Stderr = log
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	found, err := readResults(output, log)
	_ = command.Wait() // whether tests failed is in what they wrote
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, fmt.Errorf("no test of %s matches %s", g.pkg, g.tests)
	}
	return found, nil
}
