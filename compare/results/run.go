// Package results defines the stored data of a run. Run is the content of run.json, and Trial is a line of trials.jsonl.
// All other files in the folder of a run are computed from this data. They can be computed again with the same content.
package results

import (
	"time"

	"coapply.dev/compare"
)

// Schema is the version of the format of a run's folder. Folders with another version are rejected.
const Schema = "coapply.dev/compare/v4"

// Run is the content of run.json: the plan of a run and its environment.
type Run struct {
	Schema string `json:"schema"`
	// Command is the command that repeats the run, with its seed.
	Command string    `json:"command"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	// Ended is nil while the run is in progress, and after the run was killed. Interrupted is the reason for an early end.
	Ended       *time.Time `json:"ended"`
	Interrupted string     `json:"interrupted,omitempty"`
	// Profile is "quick", "review", "performance" or "custom".
	Profile string `json:"profile"`
	// Decided is the sha256 of compare/decided/decided.yaml, which has the decisions made before the run.
	Decided string `json:"decided"`
	// Plan lists the cells in the order of the report.
	Plan        []PlannedCell `json:"plan"`
	Environment Environment   `json:"environment"`
	// Arms and Workloads describe the arms and workloads at the time of the run.
	Arms      []ArmInfo      `json:"arms"`
	Workloads []WorkloadInfo `json:"workloads"`
}

// PlannedCell is a cell of the plan, with its arms.
type PlannedCell struct {
	compare.Cell
	Arms []string `json:"arms"`
	// Blocks is the number of times that every arm runs in the cell.
	Blocks int `json:"blocks"`
	// Baseline is the arm that the other arms are compared with. AA is the arm that runs twice in each block, or "".
	Baseline string `json:"baseline"`
	AA       string `json:"aa,omitempty"`
	// Control means that the cell has the negative controls.
	Control bool `json:"control,omitempty"`
	// Pilot means that the first blocks decided on Blocks. Until then, Blocks is the largest possible number.
	Pilot bool `json:"pilot,omitempty"`
}

// ArmInfo describes an arm in the report.
type ArmInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// WorkloadInfo describes a workload in the report.
type WorkloadInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Demonstration means that the workload provokes failures: its results show how arms fail, and not how often.
	Demonstration bool `json:"demonstration,omitempty"`
}

// Environment describes where a run was made. A value that could not be determined is "" or nil, and is shown as n/a.
type Environment struct {
	Commit     string `json:"commit"` // the version of coapply, with its commit, and with "+dirty" for a checkout with changes
	Go         string `json:"go"`
	OS         string `json:"os"`
	Kernel     string `json:"kernel"`
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Limits     string `json:"limits"` // of the benchmark's control group, such as "cpu.max 200000 100000, memory.max max"
	FileSystem string `json:"fileSystem"`
	// FsyncP50 and FsyncP99 are percentiles of the time for a write of 4 KiB with fsync, in the folder of etcd's data.
	FsyncP50 *time.Duration `json:"fsyncP50Ns"`
	FsyncP99 *time.Duration `json:"fsyncP99Ns"`
	// LocalCluster means that the run started a control plane of its own.
	LocalCluster bool   `json:"localCluster"`
	Server       string `json:"server"` // version of the API server
	Etcd         string `json:"etcd"`
	// EtcdFsync is "on" or "off", or "" if it is not known whether etcd uses fsync.
	EtcdFsync string   `json:"etcdFsync"`
	User      string   `json:"user"`
	Groups    []string `json:"groups"`
	// ServerCores are the cores to which the API server and etcd were pinned, and GeneratorCores those of the benchmark's
	// processes. If they could not be pinned, both are empty, and Unpinned is the reason.
	ServerCores    []int  `json:"serverCores,omitempty"`
	GeneratorCores []int  `json:"generatorCores,omitempty"`
	Unpinned       string `json:"unpinned,omitempty"`
}
