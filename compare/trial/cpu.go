package trial

import (
	"time"

	"golang.org/x/sys/unix"
)

// ownCPU is the time that this process has spent on processors.
func ownCPU() (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
