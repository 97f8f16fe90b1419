// Package compare holds the words of the benchmark that measures Server-Side Apply against get-modify-update under
// contention: an Arm is one way to write, a Workload is what is written, a Cell is a workload under parameters.
//
// The packages beside it: history is what a trial records, oracle judges it, arms and workloads are those that come with
// the benchmark, trial runs one trial, bench runs many and keeps what they measured, results is the data, statistics and
// summary reckon with it, report shows it, commands is the command line. peers measures coapply beside other libraries.
// docs/benchmarking.md has the method.
package compare

import (
	"fmt"
	"strings"
	"time"
)

// Parameters of a cell. Everything that a report has to name to be repeated is here.
type Parameters struct {
	// Writers is the number of goroutines that write at once, over all processes.
	Writers int `json:"writers"`
	// Processes is how many processes the writers are spread over: writer i is in process i modulo Processes. 1 is the
	// benchmark's own; more are children, which share nothing with each other, as controllers of several programs do.
	Processes int `json:"processes,omitempty"`
	// Objects is the number of objects written to; a writer takes them in turn, each writer beginning with another.
	Objects int `json:"objects"`
	// Managers is the number of field managers on each object. Writer i writes as manager i modulo Managers; managers
	// beyond the number of writers own their fields from the start and write no more.
	Managers int `json:"managers"`
	// RTT is added to every request by the client's transport, half before it and half after.
	RTT time.Duration `json:"rttNs,omitempty"`
	// Rate is the number of intents a second that arrive in open loop (Poisson), over all writers; 0 is a closed loop, in
	// which a writer begins its next intent when its last has ended.
	Rate float64 `json:"rate,omitempty"`
	// Rounds ends a trial after so many intents of each writer instead of after Duration; 0 is by time.
	Rounds int `json:"rounds,omitempty"`
	// Warmup is how long intents are written and judged, but not timed.
	Warmup time.Duration `json:"warmupNs"`
	// Duration is how long intents are timed.
	Duration time.Duration `json:"durationNs"`
}

// Cell is a workload under parameters: what arms are compared in.
type Cell struct {
	Workload string `json:"workload"` // its name
	Parameters
}

// String names the cell by what tells it from others: "hot-object w16 m4", and what is not 1 or 0 of the rest.
func (c Cell) String() string {
	var name strings.Builder
	fmt.Fprintf(&name, "%s w%d m%d", c.Workload, c.Writers, c.Managers)
	if c.Processes > 1 {
		fmt.Fprintf(&name, " p%d", c.Processes)
	}
	if c.Objects > 1 {
		fmt.Fprintf(&name, " o%d", c.Objects)
	}
	if c.RTT > 0 {
		fmt.Fprintf(&name, " rtt%s", c.RTT)
	}
	if c.Rate > 0 {
		fmt.Fprintf(&name, " rate%g", c.Rate)
	}
	return name.String()
}
