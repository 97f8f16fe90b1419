package localcluster

import (
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

// Command returns the command for a program that belongs to the cluster: however this process
// ends, the program is killed with the control plane. It has a process group of its own, so
// that a Ctrl-C in the terminal does not end it.
func (c *Cluster) Command(program string, args ...string) (*exec.Cmd, error) {
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
	cmd := exec.Command(link, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd, nil
}
