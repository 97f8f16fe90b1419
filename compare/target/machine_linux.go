package target

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

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
