package target

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Commit returns the version of coapply from which this program was built. It names the commit, unless a tag does, and ends with
// "+dirty" for a checkout with changes. It returns "" for a program that imports the benchmark.
func Commit() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Path, "coapply.dev") {
		return info.Main.Version
	}
	return ""
}

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

// fileSystem returns the type of the file system of a folder. Among all mount points above the folder, it uses the
// nearest one. Of several file systems with this mount point, it uses the one that was mounted last.
func fileSystem(folder string) string {
	mounts, err := procfs.GetMounts()
	if err != nil {
		return ""
	}
	found, at := "", -1
	for _, mount := range mounts {
		relative, err := filepath.Rel(mount.MountPoint, folder)
		if err == nil && filepath.IsLocal(relative) && len(mount.MountPoint) >= at {
			found, at = mount.FSType, len(mount.MountPoint)
		}
	}
	return found
}

// limits returns the CPU and memory limits of this process's control group (version 2) as text. Without control groups
// of version 2, it returns "".
func limits() string {
	own, _ := os.ReadFile("/proc/self/cgroup") // without this file, there are no files with limits
	groups := os.DirFS("/sys/fs/cgroup")
	folder := strings.TrimPrefix(strings.TrimSpace(string(own)), "0::/")
	var text []string
	for _, file := range []string{"cpu.max", "memory.max"} {
		if limit, err := fs.ReadFile(groups, path.Join(folder, file)); err == nil {
			text = append(text, file+" "+strings.TrimSpace(string(limit)))
		}
	}
	return strings.Join(text, ", ")
}
