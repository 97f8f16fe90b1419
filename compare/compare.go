// Package compare holds the words of the benchmark that measures Server-Side Apply against get-modify-update under
// contention: an Arm is one way to write, a Workload is what is written, a Cell is a workload under parameters.
//
// The packages beside it: history is what a trial records, oracle judges it, arms and workloads are those that come with
// the benchmark, trial runs one trial, bench runs many and keeps what they measured, results is the data, statistics and
// model reckon with it, report shows it. docs/benchmarking.md has the method.
package compare

import (
	"fmt"
	"strings"
	"time"
)

// Parameters of a cell. Everything that a report has to name to be repeated is here.
type Parameters struct {
	// Writers is the number of goroutines that write at once.
	Writers int `json:"writers"`
	// Objects is the number of objects written to; a writer takes them in turn, each writer beginning with another.
	Objects int `json:"objects"`
	// Managers is the number of field managers on each object. Writer i writes as manager i modulo Managers; managers
	// beyond the number of writers own their fields from the start and write no more.
	Managers int `json:"managers"`
	// Overlap is the share of intents, 0 to 1, that also set a field that all managers set.
	Overlap float64 `json:"overlap,omitempty"`
	// RTT is added to every request by the client's transport, half before it and half after.
	RTT time.Duration `json:"rttNs,omitempty"`
	// Rate is the number of intents a second that arrive in open loop (Poisson), over all writers; 0 is a closed loop.
	Rate float64 `json:"rate,omitempty"`
	// Bytes of payload that each object carries beside the fields that are written.
	Bytes int `json:"bytes,omitempty"`
	// Rounds ends a trial after so many intents of each writer instead of after Duration; 0 is by time.
	Rounds int `json:"rounds,omitempty"`
	// Warmup is how long intents are written and judged, but not timed.
	Warmup time.Duration `json:"warmupNs"`
	// Duration is how long intents are timed.
	Duration time.Duration `json:"durationNs"`
}

// Cell is a workload under parameters: what arms are compared in.
type Cell struct {
	Workload string `json:"workload"`
	Parameters
}

// String names the cell by what tells it from others: "hot-object w16 m4", and what is not 1 or 0 of the rest.
func (c Cell) String() string {
	var name strings.Builder
	fmt.Fprintf(&name, "%s w%d m%d", c.Workload, c.Writers, c.Managers)
	if c.Objects > 1 {
		fmt.Fprintf(&name, " o%d", c.Objects)
	}
	if c.Overlap > 0 {
		fmt.Fprintf(&name, " f%g", c.Overlap)
	}
	if c.RTT > 0 {
		fmt.Fprintf(&name, " rtt%s", c.RTT)
	}
	if c.Rate > 0 {
		fmt.Fprintf(&name, " rate%g", c.Rate)
	}
	if c.Bytes > 0 {
		fmt.Fprintf(&name, " b%d", c.Bytes)
	}
	return name.String()
}
