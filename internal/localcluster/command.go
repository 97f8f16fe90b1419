package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Dir returns the folder with everything that the cluster writes, such as etcd's data. Stop
// deletes it, with all that the caller put there.
func (c *Cluster) Dir() string { return c.run.dir }

// Command prepares a program that belongs to the cluster: however this process ends, the program is killed with the
// control plane. The end of the context asks it to end. It has a process group of its own, so that a Ctrl-C in the
// terminal does not do so before.
func (c *Cluster) Command(ctx context.Context, program string, args ...string) (*exec.Cmd, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", program, err)
	}
	if err := checkExecutable([]string{program}, "build it first"); err != nil {
		return nil, err
	}
	link := filepath.Join(c.run.binDir(), filepath.Base(program))
	if err := os.Symlink(program, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("preparing %s: %w", program, err)
	}
	cmd := exec.CommandContext(ctx, link, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}
