package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// processes finds the processes of a local control plane. It reads files that kwokctl writes into its folder.
type processes struct{ dir string }

// etcd returns the URL of etcd's client port, which also serves etcd's metrics. The URL uses plain HTTP on the
// loopback interface, without authentication.
func (p processes) etcd() string {
	file, err := os.Open(filepath.Join(p.dir, "kwok.yaml"))
	if err != nil {
		return ""
	}
	defer file.Close()
	var config struct{ Options struct{ EtcdPort int } }
	_ = json.NewDecoder(file).Decode(&config) // read only the first document; YAML documents follow
	return fmt.Sprintf("http://127.0.0.1:%d", config.Options.EtcdPort)
}

// find returns the process id and the command-line arguments of a running component, such as etcd. It fails on
// systems without /proc.
func (p processes) find(piece string) (pid int, arguments []string, err error) {
	var content []byte
	files, _ := filepath.Glob(filepath.Join(p.dir, "clusters", "*", "pids", piece+".pid"))
	for _, file := range files {
		content, err = os.ReadFile(file)
	}
	if err == nil {
		pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
	}
	if err != nil {
		return 0, nil, fmt.Errorf("finding the process of %s: %w", piece, err)
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return 0, nil, fmt.Errorf("reading the arguments of %s: %w", piece, err)
	}
	program, rest, _ := bytes.Cut(bytes.TrimSuffix(line, []byte{0}), []byte{0})
	if !strings.HasPrefix(string(program), p.dir+string(filepath.Separator)) { // another process has its id
		return 0, nil, fmt.Errorf("the process of %s has ended", piece)
	}
	return pid, strings.Split(string(rest), "\x00"), nil
}
