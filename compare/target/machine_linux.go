package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

func kernel() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return ""
	}
	return unix.ByteSliceToString(name.Release[:])
}

func cpuModel() string {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	cpus, err := proc.CPUInfo()
	if err != nil || len(cpus) == 0 {
		return ""
	}
	return cpus[0].ModelName
}

// allowed returns the cores that this process may use.
func allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("reading which cores this process may use: %w", err)
	}
	var cores []int
	for core := range len(set) * strconv.IntSize {
		if set.IsSet(core) {
			cores = append(cores, core)
		}
	}
	return cores, nil
}

// confine pins all threads of a process to the given cores. Threads and child processes that start later inherit the
// pinning.
func confine(pid int, cores []int) error {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	for range 2 { // twice, for threads that were started by a thread that was not pinned yet
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return fmt.Errorf("pinning process %d to CPU cores: %w", pid, err)
		}
		for _, task := range tasks {
			thread, err := strconv.Atoi(task.Name())
			if err == nil {
				err = unix.SchedSetaffinity(thread, &set)
			}
			if err != nil && !errors.Is(err, unix.ESRCH) { // ESRCH: the thread has ended
				return fmt.Errorf("pinning process %d to CPU cores: %w", pid, err)
			}
		}
	}
	return nil
}

func memory() uint64 {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	info, err := proc.Meminfo()
	if err != nil || info.MemTotalBytes == nil {
		return 0
	}
	return *info.MemTotalBytes
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
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
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
