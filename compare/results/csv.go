package results

import (
	"bytes"
	"encoding/csv"
	"strconv"
)

// column is one of results.csv.
type column struct {
	name  string
	value func(Result) string
}

// CSV is results.csv: a line of names, then one line for each Result in the order of Results.Cells. The names are those
// of results.json with the path joined by "_"; columns are added at the end, never renamed or moved. An empty field is a
// value that was not measured or that there is none of.
func CSV(r Results) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	columns := columns()
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	if err := w.Write(line); err != nil {
		return nil, err
	}
	for _, cell := range r.Cells {
		for i, c := range columns {
			line[i] = c.value(cell)
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

func columns() []column {
	all := []column{
		word("workload", func(r Result) string { return r.Workload }),
		word("arm", func(r Result) string { return r.Arm }),
		word("aa", func(r Result) string { return strconv.FormatBool(r.AA) }),
		word("control", func(r Result) string { return strconv.FormatBool(r.Control) }),
		count("writers", func(r Result) int { return r.Writers }),
		count("objects", func(r Result) int { return r.Objects }),
		count("managers", func(r Result) int { return r.Managers }),
		count("processes", func(r Result) int { return r.Processes }),
		number("rtt_ms", func(r Result) *float64 { return &r.RTTms }),
		number("rate_per_s", func(r Result) *float64 { return &r.Rate }),
		count("trials", func(r Result) int { return r.Trials }),
		count("void_trials", func(r Result) int { return r.Void }),
		word("no_verdict", func(r Result) string { return r.NoVerdict }),
	}
	all = append(all, interval("goodput_per_s", func(r Result) *Interval { return r.Goodput })...)
	all = append(all, percentiles("latency_ms", func(r Result) Percentiles { return r.Latency })...)
	all = append(all, percentiles("service_ms", func(r Result) Percentiles { return r.Service })...)
	all = append(all, counted()...)
	all = append(all, interval("apiserver_cpu_ms_per_intent", func(r Result) *Interval { return r.APIServerCPU })...)
	all = append(all, interval("etcd_cpu_ms_per_intent", func(r Result) *Interval { return r.EtcdCPU })...)
	all = append(all, interval("client_cpu_ms_per_intent", func(r Result) *Interval { return r.ClientCPU })...)
	return append(all, perIntent()...)
}

func counted() []column {
	return []column{
		count("intents", func(r Result) int { return r.Intents }),
		count("acknowledged", func(r Result) int { return r.Acknowledged }),
		number("requests_per_intent", func(r Result) *float64 { return r.RequestsPerIntent }),
		count("give_ups", func(r Result) int { return r.GiveUps }),
		number("give_up_share", func(r Result) *float64 { return r.GiveUpShare }),
		count("lost_updates", func(r Result) int { return r.LostUpdates }),
		number("lost_updates_upper_share", func(r Result) *float64 { return r.LostUpper }),
		count("stolen", func(r Result) int { return r.Stolen }),
		count("phantom", func(r Result) int { return r.Phantom }),
		count("conflicts", func(r Result) int { return r.Conflicts }),
		count("stale_writes", func(r Result) int { return r.StaleWrites }),
		count("throttled", func(r Result) int { return r.Throttled }),
		number("server_attempts_per_intent", func(r Result) *float64 { return r.ServerAttempts }),
		number("failed_transactions_per_intent", func(r Result) *float64 { return r.FailedTransactions }),
	}
}

func perIntent() []column {
	return []column{
		number("apiserver_allocs_per_intent", func(r Result) *float64 { return r.APIServerAllocs }),
		number("apiserver_request_ms_per_intent", func(r Result) *float64 { return r.RequestMs }),
		number("bytes_up_per_intent", func(r Result) *float64 { return r.BytesUp }),
		number("bytes_down_per_intent", func(r Result) *float64 { return r.BytesDown }),
		number("revisions_per_intent", func(r Result) *float64 { return r.Revisions }),
		number("watch_events_per_intent", func(r Result) *float64 { return r.WatchEvents }),
		number("object_bytes", func(r Result) *float64 { return r.ObjectBytes }),
		number("managed_fields_bytes", func(r Result) *float64 { return r.ManagedFields }),
		number("fairness", func(r Result) *float64 { return r.Fairness }),
		number("generator_share", func(r Result) *float64 { return r.GeneratorShare }),
	}
}

func word(name string, value func(Result) string) column { return column{name, value} }

func count(name string, value func(Result) int) column {
	return column{name, func(r Result) string { return strconv.Itoa(value(r)) }}
}

func number(name string, value func(Result) *float64) column {
	return column{name, func(r Result) string {
		x := value(r)
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}}
}

func interval(name string, value func(Result) *Interval) []column {
	part := func(of func(Interval) *float64) func(Result) *float64 {
		return func(r Result) *float64 {
			if value(r) == nil {
				return nil
			}
			return of(*value(r))
		}
	}
	return []column{
		number(name+"_mean", part(func(i Interval) *float64 { return &i.Mean })),
		number(name+"_lo", part(func(i Interval) *float64 { return i.Lo })),
		number(name+"_hi", part(func(i Interval) *float64 { return i.Hi })),
	}
}

func percentiles(name string, value func(Result) Percentiles) []column {
	return []column{
		number(name+"_p50", func(r Result) *float64 { return value(r).P50 }),
		number(name+"_p95", func(r Result) *float64 { return value(r).P95 }),
		number(name+"_p99", func(r Result) *float64 { return value(r).P99 }),
		number(name+"_max", func(r Result) *float64 { return value(r).Max }),
	}
}
