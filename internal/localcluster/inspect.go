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

// Arguments returns the arguments of a running piece, such as etcd or kube-apiserver, as the kernel knows them: what it
// runs with, not what it was meant to be started with. It fails where there is no /proc.
func (c *Cluster) Arguments(piece string) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(c.run.dir, "clusters", c.name, "pids", piece+".pid"))
	if err != nil {
		return nil, fmt.Errorf("looking for the process of %s: %w", piece, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return nil, fmt.Errorf("looking for the process of %s: %w", piece, err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of %s: %w", piece, err)
	}
	program, arguments, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	if !strings.HasPrefix(string(program), c.run.dir+string(filepath.Separator)) { // it has ended, and its number is another's
		return nil, fmt.Errorf("%s does not run any more", piece)
	}
	return strings.Split(string(arguments), "\x00"), nil
}
