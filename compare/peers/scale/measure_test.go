package scale

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// measure fills in what the process takes until wait returns.
func (m *manager) measure(into *report, wait func() error) error {
	runtime.GC()
	cpu, start, writes, reconciles := processorTime(), time.Now(), m.writes.count(), m.reconciles()
	if err := wait(); err != nil {
		return err
	}
	into.CPU, into.Took = processorTime()-cpu, time.Since(start)
	into.Writes, into.Reconciles = m.writes.count()-writes, m.reconciles()-reconciles
	debug.FreeOSMemory() // collects before it gives pages back
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	into.Heap = int64(memory.HeapAlloc)
	var err error
	into.RSS, err = resident()
	return err
}

func (m *manager) reconciles() int {
	sum := 0
	for _, r := range m.reconcilers {
		sum += int(r.reconciles.Load())
	}
	return sum
}

// processorTime is what this process has used of all cores, by itself and in the kernel.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// resident is the memory of this process that is in use, as Linux has it.
func resident() (int64, error) {
	content, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(content)) {
		var kibibytes int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kibibytes); n == 1 {
			return kibibytes << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc/self/status has no VmRSS")
}

// writes counts requests that are no reads.
type writes struct{ n atomic.Int64 }

func (w *writes) count() int { return int(w.n.Load()) }

func (w *writes) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if request.Method != http.MethodGet {
			w.n.Add(1)
		}
		return next.RoundTrip(request)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
