package localcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/kubernetes"

	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// TestLocalClusterLeavesNoGoroutine runs in a process of its own: managers that other
// tests share start goroutines all the time.
func TestLocalClusterLeavesNoGoroutine(t *testing.T) {
	kit.ForSoak(t)
	const alone = "COAPPLY_TEST_ALONE"
	if os.Getenv(alone) == "" {
		again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), alone+"=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	before := goleak.IgnoreCurrent()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{Name: "leak", Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	server, err := localcluster.StartAPIServer(t.Context(), t.Output())
	if err != nil {
		t.Fatal(errors.Join(err, cluster.Stop(t.Context())))
	}
	if err := errors.Join(cluster.Stop(t.Context()), server.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

func TestLocalClusterStopLeavesNothing(t *testing.T) {
	kit.ForSoak(t)
	cluster, _ := startCluster(t, localcluster.Options{Name: "stop", Nodes: 1})
	other, _ := startCluster(t, localcluster.Options{Name: "stop", Nodes: 1})
	if got := processesOf(t, runFolder(cluster)); len(got) < 5 {
		t.Errorf("%d processes of a running cluster: %v", len(got), got)
	}
	for range 2 {
		if err := cluster.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if left := processesOf(t, runFolder(cluster)); len(left) > 0 {
		t.Errorf("left after Stop:\n%s", strings.Join(left, "\n"))
	}
	client, err := kubernetes.NewForConfig(other.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		t.Errorf("the other cluster is gone too: %v", err)
	}
}

func TestLocalClusterFailedStart(t *testing.T) {
	kit.ForSoak(t)
	t.Setenv("XDG_CACHE_HOME", cacheWithSharedBuilds(t))
	runs := filepath.Join(os.Getenv("XDG_CACHE_HOME"), "coapply", "run")
	for _, test := range []struct {
		reason  string
		prepare func(t *testing.T) localcluster.Options
		want    error
		says    string
	}{
		{"a taken port", func(t *testing.T) localcluster.Options {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = listener.Close() })
			return localcluster.Options{APIServerPort: listener.Addr().(*net.TCPAddr).Port}
		}, localcluster.ErrPortTaken, "in use"},
		{"a missing binary", func(t *testing.T) localcluster.Options {
			t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
			return localcluster.Options{}
		}, localcluster.ErrMissingBinary, "KUBEBUILDER_ASSETS"},
		{"an etcd that ends at once", func(t *testing.T) localcluster.Options {
			t.Setenv("KUBEBUILDER_ASSETS", assetsWithBrokenEtcd(t))
			return localcluster.Options{}
		}, localcluster.ErrStart, "cannot go on"},
	} {
		t.Run(test.reason, func(t *testing.T) {
			options := test.prepare(t)
			ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
			defer cancel()
			cluster, err := localcluster.Start(ctx, options)
			if cluster != nil || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Start = %v, %v; want %v saying %q", cluster, err, test.want, test.says)
			}
			if left := processesOf(t, runs); len(left) > 0 {
				t.Errorf("left:\n%s", strings.Join(left, "\n"))
			}
			if folders, _ := filepath.Glob(filepath.Join(runs, "*", "*")); len(folders) > 0 {
				t.Errorf("left: %v", folders)
			}
		})
	}
}

// TestLocalClusterControllerManagerEnds: as on a busy machine, where it does not wait long enough for the API server.
func TestLocalClusterControllerManagerEnds(t *testing.T) {
	kit.ForSoak(t)
	cache := cacheWithSharedBuilds(t)
	t.Setenv("XDG_CACHE_HOME", cache)
	killed := make(chan error, 1)
	go func() {
		killed <- killFirst(t.Context(), filepath.Join(cache, "coapply", "run", "*", "clusters", "*", "pids", "kube-controller-manager.pid"))
	}()
	startCluster(t, localcluster.Options{Nodes: 1})
	if err := <-killed; err != nil {
		t.Error(err)
	}
}

// killFirst waits for a file with a process ID, and kills the process.
func killFirst(ctx context.Context, pattern string) error {
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, file := range files {
			if content, _ := os.ReadFile(file); len(content) > 0 { // not if kwokctl is still writing it
				pid, err := strconv.Atoi(string(content))
				if err != nil {
					return err
				}
				return syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	return ctx.Err()
}

// cacheWithSharedBuilds has runs of its own, so that a test knows which are its, and the builds of the real cache.
func cacheWithSharedBuilds(t *testing.T) string {
	t.Helper()
	binaries, err := localcluster.Ensure(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	if err := os.Mkdir(filepath.Join(cache, "coapply"), 0o755); err != nil {
		t.Fatal(err)
	}
	builds := filepath.Dir(filepath.Dir(binaries.Kwok))
	if err := os.Symlink(builds, filepath.Join(cache, "coapply", "controlplane")); err != nil {
		t.Fatal(err)
	}
	return cache
}

func assetsWithBrokenEtcd(t *testing.T) string {
	t.Helper()
	binaries, err := localcluster.Ensure(t.Context(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	for _, path := range []string{binaries.KubeAPIServer, binaries.Kubectl} {
		if err := os.Symlink(path, filepath.Join(assets, filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	broken := "#!/bin/sh\n[ \"$1\" = --version ] && exec " + binaries.Etcd + " --version\necho cannot go on >&2; exit 1\n"
	if err := os.WriteFile(filepath.Join(assets, "etcd"), []byte(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	return assets
}

// TestHelperLocalCluster is the process that TestLocalClusterOfADyingProcess starts; the variable says what it does.
func TestHelperLocalCluster(t *testing.T) {
	what := os.Getenv(localclusterHelper)
	if what == "" {
		t.Skip("started by other tests only")
	}
	var err error
	if what == "apiserver" {
		_, err = localcluster.StartAPIServer(t.Context(), os.Stdout)
	} else {
		_, err = localcluster.Start(t.Context(), localcluster.Options{Name: "dying", Nodes: 1, Log: os.Stdout})
	}
	if err != nil {
		t.Fatal(err)
	}
	if what == "panic" {
		go func() { panic("as a bug would") }()
	}
	time.Sleep(time.Hour)
}

func TestLocalClusterOfADyingProcess(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	cache := cacheWithSharedBuilds(t)
	runs := filepath.Join(cache, "coapply", "run")
	const starting, ready = "starting the control plane", "ready: "
	for _, test := range []struct {
		reason, what, after string
		processes           int
		signal              os.Signal
	}{
		{"killed", "cluster", ready, 6, syscall.SIGKILL},
		{"interrupted", "cluster", ready, 6, syscall.SIGINT},
		{"terminated", "cluster", ready, 6, syscall.SIGTERM},
		{"killed when the first piece runs", "cluster", starting, 3, syscall.SIGKILL},
		{"killed with an API server of its own", "apiserver", ready, 3, syscall.SIGKILL},
		{"panic in a goroutine", "panic", ready, 0, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestHelperLocalCluster$", "-test.v")
			cmd.Env = append(os.Environ(), localclusterHelper+"="+test.what, "XDG_CACHE_HOME="+cache)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitForLine(t, bufio.NewScanner(out), test.after)
			// The watchdog is one of them.
			kit.Eventually(t, "something runs that could be left behind", func() error {
				if running := processesOf(t, runs); len(running) < test.processes {
					return fmt.Errorf("%d processes", len(running))
				}
				return nil
			})
			if test.signal != nil {
				if err := cmd.Process.Signal(test.signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Wait()
			wantNoRuns(t, runs)
		})
	}
}

func waitForLine(t *testing.T, lines *bufio.Scanner, prefix string) {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), prefix) {
			return
		}
		t.Log(lines.Text())
	}
	t.Fatalf("the helper ended without a line %q: %v", prefix, lines.Err())
}

func wantNoRuns(t *testing.T, runs string) {
	t.Helper()
	kit.Eventually(t, "nothing left", func() error {
		if left := processesOf(t, runs); len(left) > 0 {
			return errors.New(strings.Join(left, "\n"))
		}
		if folders, _ := filepath.Glob(filepath.Join(runs, "*", "*")); len(folders) > 0 {
			return fmt.Errorf("folders left: %v", folders)
		}
		return nil
	})
}
