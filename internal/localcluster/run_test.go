package localcluster

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func sleepBinary(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	return path
}

// startRun starts a run, and in it one process that would go on for long.
func startRun(t *testing.T) (*run, *exec.Cmd) {
	t.Helper()
	r, err := newRun(t.Context(), "test", []string{sleepBinary(t)}, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.end(context.Background()) })
	return r, startProcess(t, filepath.Join(r.binDir(), "sleep"), "1000")
}

func startProcess(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// wantKilled fails unless the process has been ended by SIGKILL.
func wantKilled(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Errorf("process ended with %v; want killed", cmd.ProcessState)
	}
}

func wantGone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
}

func TestEndKillsTheRunAndNothingElse(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, inside := startRun(t)
	// Its arguments name the run folder, as those of a tail on a log do, but it was not started from there.
	outside := startProcess(t, "/bin/sh", "-c", "exec sleep 1000", r.dir)
	if err := r.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKilled(t, inside)
	wantGone(t, r.dir)
	if err := outside.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a process outside the run was ended: %v", err)
	}
	if err := r.end(t.Context()); err != nil {
		t.Errorf("ending it again: %v", err)
	}
	_ = outside.Process.Kill()
	_ = outside.Wait()
}

func TestEndDoesTheWorkOfAKilledWatchdog(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r, inside := startRun(t)
	killWatchdog(t, r)
	if err := r.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKilled(t, inside)
	wantGone(t, r.dir)
}

func killWatchdog(t *testing.T, r *run) {
	t.Helper()
	if err := syscall.Kill(-r.dog.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.dog.exited
}

func TestEndedContextLeavesTheWorkToTheWatchdog(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r, inside := startRun(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.end(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("end = %v; want the context's error", err)
	}
	wantKilled(t, inside)
	<-r.dog.exited
	wantGone(t, r.dir)
}

func TestNextRunReapsOrphansAndLeavesTheLiving(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	living, livingProcess := startRun(t)
	orphan, orphanProcess := startRun(t)
	killWatchdog(t, orphan)  // as a power cut does, neither the watchdog
	_ = orphan.alive.Close() // nor the process that held the lock is there any more,
	var log bytes.Buffer     // but here something still runs
	next, err := newRun(t.Context(), "next", nil, &log)
	if err != nil {
		t.Fatal(err)
	}
	defer next.end(t.Context())
	wantKilled(t, orphanProcess)
	wantGone(t, orphan.dir)
	if !strings.Contains(log.String(), orphan.dir) {
		t.Errorf("log %q does not name %s", &log, orphan.dir)
	}
	if err := livingProcess.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the living run's process was ended: %v", err)
	}
	if _, err := os.Stat(living.dir); err != nil {
		t.Error(err)
	}
}

func TestCleanKeepsTheBinariesOfTheLiving(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	owned, err := userFolders()
	if err != nil {
		t.Fatal(err)
	}
	built := filepath.Join(owned.builds, "v1.0.0-abc", "etcd")
	writeFile(t, built, strings.Repeat("x", 3<<20), 0o755)
	r, _ := startRun(t)
	var out bytes.Buffer
	if err := Clean(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(built); err != nil || !strings.Contains(out.String(), "1 running cluster(s) use them") {
		t.Errorf("with a run alive Clean printed %q, and %v; want the binary kept", &out, err)
	}
	if err := r.end(t.Context()); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := Clean(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	wantGone(t, filepath.Dir(built))
	if !strings.Contains(out.String(), "v1.0.0-abc: 3.0 MiB") {
		t.Errorf("Clean printed %q; want what it freed", &out)
	}
}

// A cluster that dies while its parent is the test: this is the parent that the next test kills.
func TestHelperHoldsARun(t *testing.T) {
	if os.Getenv("LOCALCLUSTER_HELPER") == "" {
		t.Skip("only run by TestKilledProcessLeavesNothing")
	}
	r, inside := startRun(t)
	_, _ = os.Stdout.WriteString(r.dir + "\n")
	_ = inside.Wait()
	time.Sleep(time.Hour)
}

func TestKilledProcessLeavesNothing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHelperHoldsARun$")
	cmd.Env = append(os.Environ(), "LOCALCLUSTER_HELPER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(line[:n]))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
