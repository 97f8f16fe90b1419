package results

import (
	"time"

	"coapply.dev/compare"
)

// Trial is what one trial measured: a line of trials.jsonl. The trial is the unit of the statistics.
type Trial struct {
	// ID names the trial within its run, such as "012-hot-object-w16-m4-ssa"; its history, if kept, has that name.
	ID string `json:"id"`
	compare.Cell
	Arm string `json:"arm"`
	// AA says that the arm ran a second time in its block, to show what two equal arms differ by.
	AA bool `json:"aa,omitempty"`
	// Block is the number of the repetition: every arm of a cell runs once a block. Order is the trial's place in the
	// order in which the trials of the run were made.
	Block int `json:"block"`
	Order int `json:"order"`
	// Seed of the trial's random numbers.
	Seed    uint64    `json:"seed"`
	Started time.Time `json:"started"`
	// LoadAverage of the machine over one minute before the trial.
	LoadAverage *float64 `json:"loadAverage"`
	// Void says why the trial counts for nothing; "" if it counts.
	Void string `json:"void,omitempty"`

	// Measured is the time from the end of the warm-up to the end of the trial, without the draining after it.
	Measured time.Duration `json:"measuredNs"`
	// Timed are the intents that ended in that time, but Latency those that began in it: also when they ended later.
	Timed Counts `json:"timed"`
	// All are the intents of the whole trial, its warm-up included. The server's part and the oracle's are of these.
	All Counts `json:"all"`
	// Latency of an intent from when it began (in open loop: was to begin) until it landed; Service from when the arm
	// was called. Neither has the time for which a workload holds an intent back on purpose, until other writers have
	// read. An arrival that had not begun when the trial ended has not landed.
	Latency Latency `json:"latency"`
	Service Latency `json:"service"`
	// PerWriter is how many timed intents of each writer landed.
	PerWriter []int `json:"perWriter"`
	// Open is what an open loop adds; nil in a closed one.
	Open *Open `json:"open,omitempty"`

	// Load is how busy each part was.
	Load   Shares  `json:"load"`
	Client Client  `json:"client"`
	Server Server  `json:"server"`
	Oracle Oracle  `json:"oracle"`
	Extra  Numbers `json:"extra,omitempty"` // what the workload counts, by name
}

// Open is an open loop, in which intents arrive whatever became of those before.
type Open struct {
	// Arrived is the number of intents that arrived, the warm-up included.
	Arrived int `json:"arrived"`
	// Backlog is how many of them had not landed when the last arrived, PeakBacklog the most that had not at any time.
	Backlog     int `json:"backlog"`
	PeakBacklog int `json:"peakBacklog"`
	// Converged is how long it took from the last arrival until the last intent landed: nil if some had not landed when
	// the trial stopped waiting, or never did.
	Converged *time.Duration `json:"convergedNs"`
	// Unstarted is how many had not begun when the trial stopped waiting.
	Unstarted int `json:"unstarted"`
}

// Shares is how busy the parts of a trial were from its first intent to its last: the share, 0 to 1, of the cores that a part
// may use, which API server and etcd share if they are pinned; nil where it is not known.
type Shares struct {
	Generator *float64 `json:"generator"` // the benchmark's processes: arms, watch and all
	APIServer *float64 `json:"apiserver"`
	Etcd      *float64 `json:"etcd"`
	// Bottleneck is "generator" where the benchmark's processes used more than 80 % of their cores, and more than API
	// server and etcd used of theirs: the trial says nothing of the arm then. Otherwise it is "".
	Bottleneck string `json:"bottleneck,omitempty"`
}

// Numbers by name.
type Numbers map[string]float64

// Counts of intents by outcome.
type Counts struct {
	Intents  int `json:"intents"`
	Landed   int `json:"landed"`
	Skipped  int `json:"skipped"` // of those landed: nothing had to be sent
	GaveUp   int `json:"gaveUp"`
	Rejected int `json:"rejected"`
	Failed   int `json:"failed"`
	Unknown  int `json:"unknown"`
}

// GiveUps is the number of intents that did not land, whatever the reason.
func (c Counts) GiveUps() int { return c.Intents - c.Landed }

// Latency of intents. Histogram is of those that landed, in microseconds, as HdrHistogram's V2 compressed base64; NotLanded
// are those that did not: their latency is without bound, and a percentile that falls among them has no value.
type Latency struct {
	Histogram string `json:"histogram"`
	NotLanded int    `json:"notLanded"`
}

// Client is what the trial's own side counted, in the whole trial.
type Client struct {
	// Requests by verb and status code, such as "PUT 409", with the time until the answer was read. Server-Side Apply
	// is "APPLY"; "PUT none" had no answer.
	Requests map[string]Requests `json:"requests"`
	// Conflicts are answers 409 with causes of type FieldManagerConflict; StaleWrites the other 409 of PUT and PATCH.
	Conflicts   int `json:"conflicts"`
	StaleWrites int `json:"staleWrites"`
	// Throttled are answers 429.
	Throttled int `json:"throttled"`
	// BytesUp and BytesDown are those of bodies, uncompressed.
	BytesUp   int64 `json:"bytesUp"`
	BytesDown int64 `json:"bytesDown"`
	// Connections that were opened, and the protocol that was spoken on them.
	Connections int    `json:"connections"`
	Protocol    string `json:"protocol"`
	// CPU seconds of the benchmark's own processes, arms included.
	CPU float64 `json:"cpuSeconds"`
	// Busy is the writers' time inside the arm and Own their time in the benchmark's code between; Waited, that on
	// purpose (think time, arrivals, barriers). Own / (Own + Busy) is the load generator's share.
	Busy   time.Duration `json:"busyNs"`
	Own    time.Duration `json:"ownNs"`
	Waited time.Duration `json:"waitedNs"`
	// LimiterWaits is how often client-go's rate limiter held a request back: 0, or the trial is void.
	LimiterWaits int `json:"limiterWaits"`
}

// Requests of one verb and status.
type Requests struct {
	Count     int    `json:"count"`
	Histogram string `json:"histogram"` // microseconds, as in Latency
}

// Server is what the API server and etcd counted over the whole trial; nil where the cluster does not show it.
type Server struct {
	APIServerCPU    *float64 `json:"apiserverCPUSeconds"`
	EtcdCPU         *float64 `json:"etcdCPUSeconds"`
	APIServerAllocs *float64 `json:"apiserverAllocs"`
	APIServerBytes  *float64 `json:"apiserverAllocBytes"`
	// RequestSeconds is the sum of apiserver_request_duration_seconds over the verbs that write.
	RequestSeconds *float64 `json:"apiserverRequestSeconds"`
	// Updates are etcd_requests_total{operation="update"}: the server's attempts to write an existing object.
	Updates *float64 `json:"etcdUpdates"`
	Gets    *float64 `json:"etcdGets"`
	// Proposals are what etcd's raft committed, failed transactions included.
	Proposals *float64 `json:"etcdProposals"`
	// Revisions that the trial's objects got, and events of them, both from the watch; never nil.
	Revisions   int `json:"revisions"`
	WatchEvents int `json:"watchEvents"`
	// ObjectBytes is the mean size of the trial's objects at the end, ManagedFieldsBytes of it their managed fields.
	ObjectBytes        int `json:"objectBytes"`
	ManagedFieldsBytes int `json:"managedFieldsBytes"`
	// QueueSeconds is the time that requests of our user waited in priority and fairness; PriorityLevel the level.
	QueueSeconds  *float64 `json:"queueSeconds"`
	PriorityLevel string   `json:"priorityLevel,omitempty"`
}

// Oracle is what the oracle found in the trial's history.
type Oracle struct {
	// Acknowledged intents that sent a write, and how many of them were Found at their revision.
	Acknowledged int `json:"acknowledged"`
	Found        int `json:"found"`
	// Lost, Resurrected, Stolen, Phantom and LostIncrements count values, not intents.
	Lost           int `json:"lost"`
	Resurrected    int `json:"resurrected"`
	Stolen         int `json:"stolen"`
	Phantom        int `json:"phantom"`
	LostIncrements int `json:"lostIncrements"`
	// Violations are the first of them.
	Violations []Violation `json:"violations,omitempty"`
	// Gap says that the watch missed something: the trial is void.
	Gap string `json:"gap,omitempty"`
	// Porcupine is what the linearisability checker said: "agrees", "disagrees: ..." or "" where it was not asked.
	Porcupine string `json:"porcupine,omitempty"`
}

// LostUpdates is what the report calls lost updates: values that were acknowledged and are gone without anyone having
// wanted it.
func (o Oracle) LostUpdates() int {
	return o.Acknowledged - o.Found + o.Lost + o.Resurrected + o.LostIncrements
}

// Violation is one value that is not what its writer was told.
type Violation struct {
	Kind     string `json:"kind"` // not-found, lost, resurrected, stolen, phantom, lost-increment
	Object   string `json:"object"`
	Field    string `json:"field"`
	Revision uint64 `json:"revision"`
	// Writer is whose value it was, By who wrote the revision; -1 for nobody known.
	Writer int `json:"writer"`
	By     int `json:"by"`
	// Before and After are the value in the version before and in this one; "" is absent.
	Before string `json:"before"`
	After  string `json:"after"`
}

// Goodput of a trial: intents that landed in the timed part and were found by the oracle, a second. The oracle judges
// the whole trial: the share of acknowledged intents that it found is taken for that of the timed part. It is nil where
// no time was measured.
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
