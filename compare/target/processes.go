package target

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/procfs"
)

// processes finds the processes of a local control plane. Their programs and the files of kwokctl are in its folder.
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
	all, err := procfs.AllProcs()
	if err != nil {
		return 0, nil, fmt.Errorf("finding the process of %s: %w", piece, err)
	}
	for _, process := range all {
		line, err := process.CmdLine()
		if err == nil && len(line) > 0 && strings.HasPrefix(line[0], p.dir+"/") && filepath.Base(line[0]) == piece {
			return process.PID, line[1:], nil
		}
	}
	return 0, nil, fmt.Errorf("there is no process of %s", piece)
}
