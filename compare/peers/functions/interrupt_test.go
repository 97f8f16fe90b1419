package functions

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterrupt: what the go command has started ends with it, as does the control plane of a benchmark.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	note := filepath.Join(dir, "pid")
	script := "#!/bin/sh\nsh -c 'echo $$ > " + note + ".next && mv " + note + ".next " + note + " && exec sleep 600'\ntrue\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	ended := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(note); err == nil {
				cancel(ended)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	if _, err := Measure(ctx, "requests", Options{Rounds: 1, Progress: io.Discard}); !errors.Is(err, ended) {
		t.Error(err)
	}
	text, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil && !isZombie(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the program that go has started goes on")
		}
	}
}

// isZombie reports whether a process has ended, and nobody has asked how.
func isZombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}
