package results

import (
	"math"
	"time"

	"coapply.dev/compare"
)

// Results is what is reckoned from a run's trials: results.json. Its schema is documented in docs/results-schema.md; fields
// are added, never renamed, within one version of Schema. A value that is nil was not measured or has no value: "n/a",
// never 0.
type Results struct {
	Schema string   `json:"schema"`
	Run    RunInfo  `json:"run"`
	Void   string   `json:"void,omitempty"` // why nothing of the run counts, such as a control that was not caught
	Checks []Check  `json:"checks"`
	Cells  []Result `json:"cells"`
	// Comparisons are of each arm with the baseline of its cell; those of an arm with itself are A/A.
	Comparisons []Comparison `json:"comparisons"`
	// Rivals are of ssa and apply with each arm of the cell that neither is the baseline nor applies.
	Rivals     []Comparison `json:"rivals"`
	Hypotheses []Hypothesis `json:"hypotheses"`
	Claims     []ClaimCheck `json:"claims"`
	Model      *Model       `json:"model"`
	Verdict    []string     `json:"verdict"` // five lines
}

// RunInfo is what a reader has to know of the run.
type RunInfo struct {
	Command     string      `json:"command"`
	Seed        uint64      `json:"seed"`
	Started     string      `json:"started"`
	Profile     string      `json:"profile"`
	Interrupted string      `json:"interrupted,omitempty"`
	Margin      float64     `json:"margin"`
	Trials      int         `json:"trials"`      // measured
	Planned     int         `json:"planned"`     // that were to be measured
	VoidTrials  int         `json:"void_trials"` // measured, and counting for nothing
	Environment Environment `json:"environment"`
}

// Result is one arm in one cell, over its trials that count.
type Result struct {
	Workload  string  `json:"workload"`
	Arm       string  `json:"arm"`
	AA        bool    `json:"aa,omitempty"`
	Control   bool    `json:"control,omitempty"`
	Writers   int     `json:"writers"`
	Processes int     `json:"processes"`
	Objects   int     `json:"objects"`
	Managers  int     `json:"managers"`
	RTTms     float64 `json:"rtt_ms"`
	Rate      float64 `json:"rate_per_s"`
	Trials    int     `json:"trials"`
	Void      int     `json:"void_trials"`
	// NoVerdict says why the arm takes part in no verdict in this cell; "" if it does.
	NoVerdict string `json:"no_verdict,omitempty"`

	Goodput *Interval   `json:"goodput_per_s"` // intents that landed and were found, a second
	Latency Percentiles `json:"latency_ms"`    // of all trials together, from when the intent was to begin
	Service Percentiles `json:"service_ms"`    // from when the arm was called

	Intents           int      `json:"intents"`
	Acknowledged      int      `json:"acknowledged"`
	RequestsPerIntent *float64 `json:"requests_per_intent"` // per intent that landed
	GiveUps           int      `json:"give_ups"`            // intents that did not land, whatever the reason
	GiveUpShare       *float64 `json:"give_up_share"`
	LostUpdates       int      `json:"lost_updates"`
	LostUpper         *float64 `json:"lost_updates_upper_share"` // upper end of the exact 95 % interval of the share
	Stolen            int      `json:"stolen"`                   // values overwritten by a writer that meant to
	Phantom           int      `json:"phantom"`
	Conflicts         int      `json:"conflicts"`    // ownership conflicts answered
	StaleWrites       int      `json:"stale_writes"` // stale writes answered
	Throttled         int      `json:"throttled"`
	// ServerAttempts is etcd updates per acknowledged write, FailedTransactions those that did not commit; nil where others
	// than the arm write to the same kind.
	ServerAttempts     *float64 `json:"server_attempts_per_intent"`
	FailedTransactions *float64 `json:"failed_transactions_per_intent"`

	APIServerCPU    *Interval `json:"apiserver_cpu_ms_per_intent"`
	EtcdCPU         *Interval `json:"etcd_cpu_ms_per_intent"`
	ClientCPU       *Interval `json:"client_cpu_ms_per_intent"`
	APIServerAllocs *float64  `json:"apiserver_allocs_per_intent"`
	RequestMs       *float64  `json:"apiserver_request_ms_per_intent"`
	BytesUp         *float64  `json:"bytes_up_per_intent"`
	BytesDown       *float64  `json:"bytes_down_per_intent"`
	Revisions       *float64  `json:"revisions_per_intent"`
	WatchEvents     *float64  `json:"watch_events_per_intent"`
	ObjectBytes     *float64  `json:"object_bytes"`
	ManagedFields   *float64  `json:"managed_fields_bytes"`
	Fairness        *float64  `json:"fairness"`        // Jain's index over the writers
	GeneratorShare  *float64  `json:"generator_share"` // of the writers' time, in the benchmark's own code

	Verbs map[string]float64 `json:"requests_by_verb"` // such as "PUT 409", per intent
	Extra Numbers            `json:"extra,omitempty"`  // of the workload, mean over trials
}

// Cell gives the parameters that name the cell.
func (r Result) Cell() compare.Cell {
	return compare.Cell{Workload: r.Workload, Parameters: compare.Parameters{
		Writers: r.Writers, Processes: r.Processes, Objects: r.Objects, Managers: r.Managers, Rate: r.Rate,
		RTT: time.Duration(math.Round(r.RTTms * 1e6)),
	}}
}

// Interval is a mean over trials with its 95 % interval; Lo and Hi are nil where there are too few trials for one.
type Interval struct {
	Mean float64  `json:"mean"`
	Lo   *float64 `json:"lo"`
	Hi   *float64 `json:"hi"`
}

// Percentiles in milliseconds; nil where that share of intents did not land.
type Percentiles struct {
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
	P99 *float64 `json:"p99"`
	Max *float64 `json:"max"` // of those that landed
}

// Comparison is the paired ratio of an arm to the baseline of its cell: geometric mean over blocks. Ratio is 0 where there
// is none, Lo and Hi where there are too few blocks for an interval. Of apiserver_cpu, a cost, slower means more.
type Comparison struct {
	Cell     string  `json:"cell"` // index-free name, such as "hot-object w16 m4"
	Arm      string  `json:"arm"`
	Baseline string  `json:"baseline"`
	AA       bool    `json:"aa,omitempty"`
	Measure  string  `json:"measure"` // goodput, apiserver_cpu
	Blocks   int     `json:"blocks"`
	Ratio    float64 `json:"ratio"`
	Lo       float64 `json:"lo"`
	Hi       float64 `json:"hi"`
	P        float64 `json:"p"`          // exact sign-flip permutation test
	Adjusted float64 `json:"p_adjusted"` // Benjamini-Hochberg over the comparisons of one measure that get a verdict
	// Word is one of: faster, slower, no difference shown, equivalent, unstable, no verdict.
	Word string `json:"word"`
	Why  string `json:"why,omitempty"` // for no verdict and unstable
}

// Check is a condition of an honest run with what was seen.
type Check struct {
	Name   string `json:"name"`   // stable
	Threat string `json:"threat"` // what would make the run dishonest
	Guard  string `json:"guard"`
	Result string `json:"result"` // what was seen, with numbers
	State  string `json:"state"`  // passed, failed, stated (it cannot fail), or n/a
}

// Hypothesis was written down before the run.
type Hypothesis struct {
	Name     string `json:"name"` // H1 to H8
	Text     string `json:"text"`
	Measured string `json:"measured"`
	State    string `json:"state"` // holds, does not hold, not tested, no verdict
}

// ClaimCheck is a published figure beside what was measured.
type ClaimCheck struct {
	Workload      string `json:"workload"`
	Text          string `json:"text"`
	Measured      string `json:"measured"`
	Contradiction string `json:"contradiction,omitempty"`
}
