package localcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Etcd returns the URL of etcd's client port: plain HTTP on loopback, without authentication. Its metrics are there too.
func (c *Cluster) Etcd() string { return c.etcd }

// PID returns the process id of a running component, such as etcd or kube-apiserver.
func (c *Cluster) PID(piece string) (int, error) {
	pid, _, err := c.process(piece)
	return pid, err
}

// Arguments returns the arguments with which a component runs, from /proc. It fails on systems
// without /proc.
func (c *Cluster) Arguments(piece string) ([]string, error) {
	_, arguments, err := c.process(piece)
	return arguments, err
}

func (c *Cluster) process(piece string) (pid int, arguments []string, err error) {
	content, err := os.ReadFile(filepath.Join(c.run.dir, "clusters", c.name, "pids", piece+".pid"))
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("looking for the process of %s: %w", piece, err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the arguments of %s: %w", piece, err)
	}
	program, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	if !strings.HasPrefix(string(program), c.run.dir+string(filepath.Separator)) { // it has ended, and its number is another's
		return 0, nil, fmt.Errorf("%s does not run any more", piece)
	}
	return pid, strings.Split(string(rest), "\x00"), nil
}
