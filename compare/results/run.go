// Package results is the data of a run: what was measured as it was measured (Run and Trial, in run.json and
// trials.jsonl), and what is reckoned from it alone (Results). Everything that is shown comes from there, so that
// showing it again gives the same bytes.
package results

import (
	"time"

	"coapply.dev/compare"
)

// Schema is the version of what a folder holds; a folder of another version is refused.
const Schema = "coapply.dev/compare/v2"

// Run is what a run was to do and where it ran: run.json.
type Run struct {
	Schema string `json:"schema"`
	// Command that repeats the run, seed included.
	Command string    `json:"command"`
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	// Ended is nil while the run goes on and if it was killed; Interrupted says that it was ended early.
	Ended       *time.Time `json:"ended"`
	Interrupted string     `json:"interrupted,omitempty"`
	// Profile is quick, review or custom.
	Profile string `json:"profile"`
	// Decided is the sha256 of the file that says what was decided before the run: compare/decided/decided.yaml.
	Decided string `json:"decided"`
	// Plan is the cells in the order of the report.
	Plan        []PlannedCell `json:"plan"`
	Environment Environment   `json:"environment"`
	// Arms and Workloads as they were, so that the report shows the code that ran.
	Arms      []ArmInfo      `json:"arms"`
	Workloads []WorkloadInfo `json:"workloads"`
}

// PlannedCell is a cell with the arms that run in it.
type PlannedCell struct {
	compare.Cell
	Arms []string `json:"arms"`
	// Blocks is how many times every arm runs in the cell.
	Blocks int `json:"blocks"`
	// Baseline is the arm that others are compared with; AA the arm that runs twice, "" for none.
	Baseline string `json:"baseline"`
	AA       string `json:"aa,omitempty"`
	// Control says that the cell shows whether the oracle sees losses.
	Control bool `json:"control,omitempty"`
}

// ArmInfo is an arm as the report shows it.
type ArmInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Source  string `json:"source"`
	Control bool   `json:"control,omitempty"`
}

// WorkloadInfo is a workload as the report shows it.
type WorkloadInfo struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
	// Demonstration says that the construction decides the outcome.
	Demonstration bool            `json:"demonstration,omitempty"`
	Claims        []compare.Claim `json:"claims,omitempty"`
	// Object is one of the objects that were written, as YAML, from the first trial.
	Object string `json:"object,omitempty"`
}

// Environment in which a run was made. What could not be found out is "" or nil, and shown as n/a.
type Environment struct {
	Commit     string            `json:"commit"` // of coapply, with "+changes" for a checkout with changes
	Go         string            `json:"go"`
	Modules    map[string]string `json:"modules"` // versions of the libraries that take part
	OS         string            `json:"os"`
	Kernel     string            `json:"kernel"`
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	Memory     uint64            `json:"memoryBytes"`
	Limits     string            `json:"limits"` // of the benchmark's control group, such as "2 CPUs, 4.0 GiB"; or "none"
	FileSystem string            `json:"fileSystem"`
	// Fsync is how long a write of 4 KiB with fsync took where etcd has its data.
	FsyncP50 *time.Duration `json:"fsyncP50Ns"`
	FsyncP99 *time.Duration `json:"fsyncP99Ns"`
	// LocalCluster says that the run started its own control plane.
	LocalCluster bool   `json:"localCluster"`
	Server       string `json:"server"` // version of the API server
	Etcd         string `json:"etcd"`
	// EtcdFsync is "on", "off" or "" for not known; how it is known stands in the checks.
	EtcdFsync      string            `json:"etcdFsync"`
	APIServerFlags map[string]string `json:"apiserverFlags,omitempty"`
	EtcdFlags      []string          `json:"etcdFlags,omitempty"`
	User           string            `json:"user"`
	Groups         []string          `json:"groups"`
	QPS            float32           `json:"qps"` // of the clients; -1 is without limit
	Encoding       string            `json:"encoding"`
	// ServerCores are those that API server and etcd were pinned to, GeneratorCores those of the benchmark's processes.
	// Both are empty where the system does not allow that; Unpinned says why.
	ServerCores    []int  `json:"serverCores,omitempty"`
	GeneratorCores []int  `json:"generatorCores,omitempty"`
	Unpinned       string `json:"unpinned,omitempty"`
	// Latency of an empty GET, median, on one connection: what the loop to the server costs.
	LoopbackP50 *time.Duration `json:"loopbackP50Ns"`
}
