// Package compare defines the types of a benchmark. The benchmark compares Server-Side Apply with get-modify-update
// under contention. An Arm is one way to write. A Workload defines the objects and the writes. A Cell is a Workload
// with parameters. The arms in a cell are compared with each other.
//
// The packages arms and workloads implement the arms and workloads of the benchmark. Package trial runs one trial.
// Package history defines the record of a trial, and package oracle finds lost updates in this record. Package decided has
// the questions and plans. Package bench runs many trials, and package results defines the stored data. The packages
// statistics and summary evaluate the data, and package report shows the results. Package commands implements the command
// line. Package peers compares coapply with other libraries. docs/benchmarking.md explains the method.
package compare

import (
	"fmt"
	"strings"
	"time"
)

// Parameters are the parameters of a cell. They include everything that is needed to repeat its trials.
type Parameters struct {
	// Writers is the number of goroutines that write concurrently, over all processes.
	Writers int `json:"writers"`
	// Processes is the number of processes that the writers are spread over. Writer i is in process i modulo
	// Processes. With 1, all writers are in the benchmark's own process. The other processes are its children.
	// They share nothing with each other, like separate controllers.
	Processes int `json:"processes,omitempty"`
	// Objects is the number of objects that are written to. Each writer writes to all objects in turn. Two writers
	// with consecutive numbers start at different objects.
	Objects int `json:"objects"`
	// Managers is the number of field managers on each object. Writer i writes as field manager i modulo Managers. If
	// there are more field managers than writers, the unused field managers own fields but do not write in the trial.
	Managers int `json:"managers"`
	// RTT is a round-trip time that the client adds to every request, half before and half after the request.
	RTT time.Duration `json:"rttNs,omitempty"`
	// Rate is the number of intents per second in an open loop, over all writers. They arrive at random times (a
	// Poisson process). 0 means a closed loop: each writer begins its next intent when the last one has ended.
	Rate float64 `json:"rate,omitempty"`
	// Rounds ends a trial after this number of intents of each writer. 0 means that the trial ends after Duration.
	Rounds int `json:"rounds,omitempty"`
	// Warmup is the time at the start of a trial in which intents are written and judged by the oracle, but not timed.
	Warmup time.Duration `json:"warmupNs"`
	// Duration is the time after the warm-up in which intents are timed.
	Duration time.Duration `json:"durationNs"`
}

// Cell is a workload with parameters. Arms are compared within a cell.
type Cell struct {
	Workload string `json:"workload"` // the name of the workload
	Parameters
}

// String returns the name of the cell, such as "hot-object w16 m4". The name contains the number of writers (w) and
// of field managers (m). Other parameters are added only if they differ from the usual value.
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
