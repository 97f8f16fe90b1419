package target

import (
	"errors"
	"fmt"
	"os"
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
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return ""
	}
	cpus, err := fs.CPUInfo()
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

// confine pins all threads of a process to the given cores. The process id 0 stands for this process. Threads and
// child processes that start later inherit the pinning.
func confine(pid int, cores []int) error {
	var set unix.CPUSet
	for _, core := range cores {
		set.Set(core)
	}
	if pid == 0 {
		pid = os.Getpid()
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
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	info, err := fs.Meminfo()
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

// limits returns the CPU and memory limits of this process's control group as text. In version 2 of control groups,
// lower limits of parent groups also apply. root is the root folder; it is "/" except in tests.
func limits(root string) string {
	path, ok := group(root)
	if !ok {
		return ""
	}
	var cpus, bytes float64
	for mount := filepath.Join(root, "sys", "fs", "cgroup"); ; path = filepath.Dir(path) {
		at := filepath.Join(mount, path)
		cpus = lesser(cpus, quotient(content(at, "cpu.max")))
		bytes = lesser(bytes, quotient(content(at, "memory.max")))
		if path == "/" {
			break
		}
	}
	v1 := func(controller, file string) string {
		return content(filepath.Join(root, "sys", "fs", "cgroup", controller), file)
	}
	cpus = lesser(cpus, quotient(v1("cpu", "cpu.cfs_quota_us")+" "+v1("cpu", "cpu.cfs_period_us")))
	if limit := quotient(v1("memory", "memory.limit_in_bytes")); limit < 1<<60 { // version 1's "none"
		bytes = lesser(bytes, limit)
	}
	var text []string
	if cpus > 0 {
		text = append(text, fmt.Sprintf("%.4g CPUs", cpus))
	}
	if bytes > 0 {
		text = append(text, fmt.Sprintf("%.1f GiB", bytes/(1<<30)))
	}
	if len(text) == 0 {
		return "none"
	}
	return strings.Join(text, ", ")
}

// group returns the path of this process's control group of version 2, or "/" if the system has only version 1. It
// returns false if the path cannot be read.
func group(root string) (string, bool) {
	lines, err := os.ReadFile(filepath.Join(root, "proc", "self", "cgroup"))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(lines)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Clean(path), true
		}
	}
	return "/", true
}

func content(folder, file string) string {
	text, _ := os.ReadFile(filepath.Join(folder, file)) // without the file there is no limit
	return strings.TrimSpace(string(text))
}

// quotient parses a control group file that contains a number, or a quota and a period. It returns the number, or the
// quota divided by the period. It returns 0 if there is no limit ("max", -1 or empty content).
func quotient(text string) float64 {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return 0
	}
	quota, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || quota <= 0 {
		return 0
	}
	if len(fields) == 1 {
		return quota
	}
	period, err := strconv.ParseFloat(fields[1], 64)
	if err != nil || period <= 0 {
		return 0
	}
	return quota / period
}

// lesser returns the lower of two limits; 0 means that there is no limit.
func lesser(a, b float64) float64 {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
