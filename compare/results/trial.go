package results

import (
	"time"

	"coapply.dev/compare"
)

// Trial has the measurements of one trial. It is a line of trials.jsonl.
type Trial struct {
	// ID is the name of the trial within its run, such as "0012-hot-object-w16-m4-ssa".
	ID string `json:"id"`
	compare.Cell
	Arm string `json:"arm"`
	// AA means that this is the second run of the arm in its block. It shows how much two runs of one arm differ.
	AA bool `json:"aa,omitempty"`
	// Block is the number of the block. In each block, every arm of a cell runs once. Order is the position of the
	// trial among all trials of the run.
	Block int `json:"block"`
	Order int `json:"order"`
	// Seed is the seed of the trial's random numbers.
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	// Void is the reason why the trial is void, that is, does not count. It is "" for a valid trial.
	Void string `json:"void,omitempty"`

	// Measured is the length of the timed part: from the end of the warm-up to the end of the trial. The time to complete
	// the last intents is not included.
	Measured time.Duration `json:"measuredNs"`
	// Timed counts the intents that ended in the timed part. In contrast, Latency contains the intents that began in
	// the timed part, even if they ended later.
	Timed Counts `json:"timed"`
	// Fewest and Most are the smallest and the largest number of intents of one writer that landed in the timed part.
	Fewest int `json:"fewest"`
	Most   int `json:"most"`
	// All counts the intents of the whole trial, including the warm-up. Server and Oracle are about all of these intents.
	All Counts `json:"all"`
	// Latency is the time from the start of an intent until the intent landed. In an open loop, an intent starts at
	// its arrival. Service is the time from the call of the arm until the intent landed. Both times exclude the time
	// in Intent.Pause. An arrival that no writer started counts as not landed.
	Latency Latency `json:"latency"`
	Service Latency `json:"service"`
	// Open has additional numbers of an open loop; nil for a closed loop.
	Open *Open `json:"open,omitempty"`

	// Load has the CPU usage of each part of the system.
	Load   Shares `json:"load"`
	Client Client `json:"client"`
	Server Server `json:"server"`
	Oracle Oracle `json:"oracle"`
	// Extra has additional numbers of the workload, from compare.Run.Finish.
	Extra map[string]float64 `json:"extra,omitempty"`
}

// Open has the numbers of an open loop. In an open loop, intents arrive at given times, whether or not earlier intents have ended.
type Open struct {
	// Arrived is the number of intents that arrived, including the warm-up.
	Arrived int `json:"arrived"`
	// Backlog is the number of intents that had arrived but not landed at the time of the last arrival.
	Backlog int `json:"backlog"`
	// Converged is the time from the last arrival until the last intent landed. It is nil if an intent did not land.
	Converged *time.Duration `json:"convergedNs"`
}

// Shares contains the CPU usage of each part of the system from the first intent to the last, as a fraction (0 to 1)
// of the part's cores. The API server and etcd use the same cores if they are pinned. An unknown fraction is nil.
type Shares struct {
	Generator *float64 `json:"generator"` // the benchmark's processes, including arms and watches
	APIServer *float64 `json:"apiserver"`
	Etcd      *float64 `json:"etcd"`
	// Bottleneck is "generator" if the benchmark's processes have a share above 0.8 and above the shares of the API
	// server and etcd. The trial then says nothing about the arm. Otherwise, Bottleneck is "".
	Bottleneck string `json:"bottleneck,omitempty"`
}

// Counts has the numbers of intents, in total and by outcome.
type Counts struct {
	Intents  int `json:"intents"`
	Landed   int `json:"landed"`
	Skipped  int `json:"skipped"` // the landed intents for which nothing had to be sent
	GaveUp   int `json:"gaveUp"`
	Rejected int `json:"rejected"`
	Failed   int `json:"failed"`
	Unknown  int `json:"unknown"`
}

// GiveUps returns the number of intents that did not land, for any reason.
func (c Counts) GiveUps() int { return c.Intents - c.Landed }

// Latency is a distribution of the latencies of intents. Histogram contains the latencies of landed intents in
// microseconds, as HdrHistogram's V2 compressed format in base64. NotLanded is the number of other intents.
// Percentiles include these intents with an infinite latency.
type Latency struct {
	Histogram string `json:"histogram"`
	NotLanded int    `json:"notLanded"`
}

// Client has the counts of the client side, for the whole trial.
type Client struct {
	// Requests has the number of requests by verb and status code, such as "PUT 409". The verb of Server-Side Apply is
	// "APPLY". The status code of a request without a response is "none".
	Requests map[string]int `json:"requests"`
	// Conflicts is the number of responses 409 with a cause FieldManagerConflict. StaleWrites is the number of other
	// responses 409 to PUT and PATCH.
	Conflicts   int `json:"conflicts"`
	StaleWrites int `json:"staleWrites"`
	// BytesUp and BytesDown are the sizes of the request bodies and the response bodies, uncompressed.
	BytesUp   int64 `json:"bytesUp"`
	BytesDown int64 `json:"bytesDown"`
	// CPU is the CPU time of the benchmark's own processes, in seconds. It includes the arms.
	CPU float64 `json:"cpuSeconds"`
	// Busy is the time that writers spent in the arm. Own is the time that writers spent in the benchmark's own code. Waited
	// is the time that writers spent waiting for arrivals and barriers. Own / (Own + Busy) is the load generator's share.
	Busy   time.Duration `json:"busyNs"`
	Own    time.Duration `json:"ownNs"`
	Waited time.Duration `json:"waitedNs"`
	// LimiterWaits is the number of requests that client-go's rate limiter delayed. If it is not 0, the trial is void.
	LimiterWaits int `json:"limiterWaits"`
}

// Server has the counts of the API server and etcd for the whole trial. A value that the cluster does not expose is nil.
type Server struct {
	APIServerCPU *float64 `json:"apiserverCPUSeconds"`
	EtcdCPU      *float64 `json:"etcdCPUSeconds"`
	// Updates is the growth of etcd_requests_total{operation="update"}: the API server's attempts to update an object in etcd.
	Updates *float64 `json:"etcdUpdates"`
	// Revisions is the number of new revisions of the trial's objects. It is from the watch and is always known.
	Revisions int `json:"revisions"`
	// ObjectBytes is the mean size of the trial's objects at the end. ManagedFieldsBytes is the mean size of their
	// managed fields.
	ObjectBytes        int `json:"objectBytes"`
	ManagedFieldsBytes int `json:"managedFieldsBytes"`
}

// Oracle has the results of the oracle for the trial's history.
type Oracle struct {
	// Acknowledged is the number of acknowledged intents that sent a write. Found is the number of those
	// intents whose values are in the acknowledged revision.
	Acknowledged int `json:"acknowledged"`
	Found        int `json:"found"`
	// Lost, Resurrected, Stolen, Phantom and LostIncrements are numbers of values, not of intents. See package oracle.
	Lost           int `json:"lost"`
	Resurrected    int `json:"resurrected"`
	Stolen         int `json:"stolen"`
	Phantom        int `json:"phantom"`
	LostIncrements int `json:"lostIncrements"`
	// Violations has the first violations in detail.
	Violations []Violation `json:"violations,omitempty"`
	// Gap is not empty if the watch missed a version. The trial is then void.
	Gap string `json:"gap,omitempty"`
}

// LostUpdates returns the number of lost updates: acknowledged values that were not stored, or that disappeared although no
// writer wanted this.
func (o Oracle) LostUpdates() int {
	return o.Acknowledged - o.Found + o.Lost + o.Resurrected + o.LostIncrements
}

// Violation is an acknowledged value that was not stored or did not remain, or a change that no operation explains.
type Violation struct {
	Kind     string `json:"kind"` // not-found, lost, resurrected, stolen, phantom, lost-increment
	Object   string `json:"object"`
	Field    string `json:"field"`
	Revision uint64 `json:"revision"`
	// Writer is the writer of the value, and By the writer of the revision; -1 means that the writer is not known.
	Writer int `json:"writer"`
	By     int `json:"by"`
	// Before and After are the value of the field before and in this revision; "" means absent.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Goodput returns the number of landed intents per second in the timed part, multiplied by the share of intents that
// the oracle found in the whole trial. It returns nil if no time was measured.
func (t Trial) Goodput() *float64 {
	if t.Measured <= 0 {
		return nil
	}
	found := 1.0
	if t.Oracle.Acknowledged > 0 {
		found = float64(t.Oracle.Found) / float64(t.Oracle.Acknowledged)
	}
	goodput := float64(t.Timed.Landed) * found / t.Measured.Seconds()
	return &goodput
}
