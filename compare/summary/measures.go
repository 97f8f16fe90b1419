package summary

import "coapply.dev/compare/results"

// Measure is a quantity that is computed for every trial.
type Measure struct {
	Name, Unit, Text string
	// Cost means that lower values are better.
	Cost bool
	// of returns the value of a trial, or nil if the trial has none.
	of func(results.Trial) *float64
}

// The names of the measures that answer the questions about speed and cost.
const (
	goodput   = "goodput_per_s"
	serverCPU = "apiserver_cpu_ms_per_intent"
	fairness  = "fairness"
)

// Measures lists all measures, in the order of the documentation. "Per intent" means divided by the number of intents
// that landed, including the warm-up, because the counters of the server include the warm-up.
var Measures = []Measure{
	{goodput, "/s", "intents a second that landed and were found at their revision", false, results.Trial.Goodput},
	{"p50_ms", "ms", "median latency of an intent, from the time at which it was to begin", true, percentile(50)},
	{"p99_ms", "ms", "99th percentile of the same latency", true, percentile(99)},
	{fairness, "share", "fewest intents of a writer that landed, divided by the most of a writer", false, fairShare},
	{"give_up_share", "share", "share of the intents that did not land", true, giveUps},
	{"requests_per_intent", "requests", "of all verbs", true, perIntent(func(t results.Trial) *float64 { return new(float64(requests(t))) })},
	{"stale_writes_per_intent", "answers", "409 because of an old resourceVersion", true, perIntent(func(t results.Trial) *float64 { return new(float64(t.Client.StaleWrites)) })},
	{"conflicts_per_intent", "answers", "409 because another manager owns a field", true, perIntent(func(t results.Trial) *float64 { return new(float64(t.Client.Conflicts)) })},
	{"server_attempts_per_write", "updates", "sent to etcd for each acknowledged write, repeats inside the server included", true, serverAttempts},
	{serverCPU, "ms", "CPU of the API server", true, milliseconds(func(t results.Trial) *float64 { return t.Server.APIServerCPU })},
	{"etcd_cpu_ms_per_intent", "ms", "CPU of etcd", true, milliseconds(func(t results.Trial) *float64 { return t.Server.EtcdCPU })},
	{"client_cpu_ms_per_intent", "ms", "CPU of the writers, the benchmark's own code included", true, milliseconds(func(t results.Trial) *float64 { return &t.Client.CPU })},
	{"bytes_up_per_intent", "bytes", "of request bodies", true, perIntent(func(t results.Trial) *float64 { return new(float64(t.Client.BytesUp)) })},
	{"bytes_down_per_intent", "bytes", "of answers", true, perIntent(func(t results.Trial) *float64 { return new(float64(t.Client.BytesDown)) })},
	{"managed_fields_bytes", "bytes", "of an object at the end", true, managedFields},
	{"backlog_share", "share", "of the arrivals of an open loop that had not landed when the last arrived", true, backlog},
	{"converged_ms", "ms", "from the last arrival of an open loop until the last intent landed", true, converged},
	{"generator_load", "share", "of the cores of the benchmark's processes that they used", true, func(t results.Trial) *float64 { return t.Load.Generator }},
	{"apiserver_load", "share", "of the servers' cores that the API server used", true, func(t results.Trial) *float64 { return t.Load.APIServer }},
	{"etcd_load", "share", "of the servers' cores that etcd used", true, func(t results.Trial) *float64 { return t.Load.Etcd }},
	{"own_share", "share", "of the writers' time in the benchmark's own code", true, ownShare},
}

func measureOf(name string) Measure {
	for _, m := range Measures {
		if m.Name == name {
			return m
		}
	}
	return Measure{}
}

func percentile(p float64) func(results.Trial) *float64 {
	return func(t results.Trial) *float64 {
		d, err := results.Merge(t.Latency)
		if err != nil || d.Intents() == 0 {
			return nil
		}
		return d.Percentile(p)
	}
}

func fairShare(t results.Trial) *float64 {
	if t.Most == 0 {
		return nil
	}
	return new(float64(t.Fewest) / float64(t.Most))
}

func giveUps(t results.Trial) *float64 {
	if t.All.Intents == 0 {
		return nil
	}
	return new(float64(t.All.GiveUps()) / float64(t.All.Intents))
}

func perIntent(of func(results.Trial) *float64) func(results.Trial) *float64 {
	return func(t results.Trial) *float64 {
		value := of(t)
		if value == nil || t.All.Landed == 0 {
			return nil
		}
		return new(*value / float64(t.All.Landed))
	}
}

func milliseconds(seconds func(results.Trial) *float64) func(results.Trial) *float64 {
	return perIntent(func(t results.Trial) *float64 {
		if s := seconds(t); s != nil {
			return new(1000 * *s)
		}
		return nil
	})
}

func requests(t results.Trial) int {
	total := 0
	for _, count := range t.Client.Requests {
		total += count
	}
	return total
}

// othersWrote reports whether other clients wrote to the objects of the trial, as controllers do to nodes. Then
// the counters of the server include more than the writes of the arm.
func othersWrote(t results.Trial) bool { return t.Server.Revisions > t.Oracle.Acknowledged }

func serverAttempts(t results.Trial) *float64 {
	if t.Server.Updates == nil || t.Oracle.Acknowledged == 0 || othersWrote(t) {
		return nil
	}
	return new(*t.Server.Updates / float64(t.Oracle.Acknowledged))
}

func managedFields(t results.Trial) *float64 {
	if t.Server.ObjectBytes == 0 {
		return nil // at the end of the trial there was no object
	}
	return new(float64(t.Server.ManagedFieldsBytes))
}

func backlog(t results.Trial) *float64 {
	if t.Open == nil || t.Open.Arrived == 0 {
		return nil
	}
	return new(float64(t.Open.Backlog) / float64(t.Open.Arrived))
}

func converged(t results.Trial) *float64 {
	if t.Open == nil || t.Open.Converged == nil {
		return nil
	}
	return new(t.Open.Converged.Seconds() * 1000)
}

func ownShare(t results.Trial) *float64 {
	if all := t.Client.Own + t.Client.Busy; all > 0 {
		return new(float64(t.Client.Own) / float64(all))
	}
	return nil
}
