package localcluster

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coapply.dev/test/kit"
)

func TestLocalClusterListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	kit.Server(t)
	runs := filepath.Dir(runFolder(kit.Cluster(t)))
	listening := listeningSockets(t)
	seen := 0
	for _, process := range processesOf(t, runs) {
		dir, _, _ := strings.Cut(process, " ")
		for _, inode := range socketsOf(dir) {
			address, ok := listening[inode]
			if !ok {
				continue
			}
			seen++
			if !onLoopback(address) {
				t.Errorf("%s listens on %s", process, address)
			}
		}
	}
	// etcd (clients, peers) and the server twice; controller manager, scheduler and kwok once.
	if seen < 9 {
		t.Errorf("%d listening sockets seen; want at least 9", seen)
	}
}

// onLoopback reads the kernel's hexadecimal, host byte order, addresses.
func onLoopback(address string) bool {
	return strings.HasPrefix(address, "0100007F:") || // 127.0.0.1
		strings.HasPrefix(address, "00000000000000000000000001000000:") // ::1
}

// listeningSockets maps the inodes of all listening sockets to their addresses.
func listeningSockets(t *testing.T) map[string]string {
	t.Helper()
	const listen = "0A"
	sockets := map[string]string{}
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		file, err := os.Open(path)
		if err != nil {
			continue // a kernel without IPv6
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			if fields := strings.Fields(lines.Text()); len(fields) > 9 && fields[3] == listen {
				sockets[fields[9]] = fields[1]
			}
		}
	}
	return sockets
}

func socketsOf(process string) (inodes []string) {
	descriptors, _ := filepath.Glob(filepath.Join(process, "fd", "*"))
	for _, path := range descriptors {
		target, err := os.Readlink(path)
		var inode string
		if err == nil {
			if _, err := fmt.Sscanf(target, "socket:[%s", &inode); err == nil {
				inodes = append(inodes, strings.TrimSuffix(inode, "]"))
			}
		}
	}
	return inodes
}
