package localcluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

//go:embed reap.sh
var reapScript string

// watchdog is a shell process that waits until a pipe is closed. Only this process holds the other end of the pipe.
// When this process ends for any reason, the kernel closes the pipe. The shell then kills the processes of the run
// and deletes the run folder. A normal stop of the run also closes the pipe.
type watchdog struct {
	run    string
	pipe   *os.File
	pid    int
	exited chan struct{}
	err    error // the shell's exit error; read it only after exited is closed

	closeOnce sync.Once
}

func watch(run string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", reapScript, "coapply-watchdog", run, "wait")
	// The watchdog has its own session, so that a Ctrl-C in the terminal does not reach it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/"
	in, out, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	defer in.Close()
	cmd.Stdin = in
	if err := cmd.Start(); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	w := &watchdog{run: run, pipe: out, pid: cmd.Process.Pid, exited: make(chan struct{})}
	go func() {
		defer close(w.exited)
		w.err = cmd.Wait()
	}()
	return w, nil
}

// release closes the pipe, and waits until the watchdog has killed the processes of the run and deleted the run
// folder. If the context ends first, the watchdog continues in the background.
func (w *watchdog) release(ctx context.Context) error {
	w.closeOnce.Do(func() { _ = w.pipe.Close() })
	select {
	case <-ctx.Done():
		return fmt.Errorf("the watchdog is still stopping the processes, in the background: %w", context.Cause(ctx))
	case <-w.exited:
	}
	if w.err == nil {
		return nil
	}
	// The watchdog was killed or has failed: this process removes the run itself.
	return reap(ctx, w.run)
}

// reap kills the processes of a run and deletes the run folder, as the watchdog does.
func reap(ctx context.Context, run string) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", reapScript, "coapply-reap", run)
	cmd.Dir = "/"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stopping the processes of the run and deleting the run folder %s: %w: %s", run, err, out)
	}
	return nil
}
