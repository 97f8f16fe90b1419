package summary

import (
	"time"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// costs are per intent that landed, in the whole trial, its warm-up included: so are the server's counters.
func (g group) costs(r *results.Result) {
	landed := func(t results.Trial) float64 { return float64(t.All.Landed) }
	acknowledged := func(t results.Trial) float64 { return float64(t.Oracle.Acknowledged) }
	r.RequestsPerIntent = g.per(requests, landed)
	r.ServerAttempts = g.per(serverAttempts, acknowledged)
	r.FailedTransactions = g.per(failedTransactions, acknowledged)
	r.APIServerCPU = g.mean(cpuPerIntent)
	r.EtcdCPU = g.mean(func(t results.Trial) *float64 { return millisecondsPerIntent(t, t.Server.EtcdCPU) })
	r.ClientCPU = g.mean(func(t results.Trial) *float64 { return millisecondsPerIntent(t, &t.Client.CPU) })
	r.APIServerAllocs = g.per(func(t results.Trial) *float64 { return t.Server.APIServerAllocs }, landed)
	r.RequestMs = scaled(g.per(func(t results.Trial) *float64 { return t.Server.RequestSeconds }, landed), 1000)
	r.BytesUp = g.per(func(t results.Trial) *float64 { return new(float64(t.Client.BytesUp)) }, landed)
	r.BytesDown = g.per(func(t results.Trial) *float64 { return new(float64(t.Client.BytesDown)) }, landed)
	r.Revisions = g.per(func(t results.Trial) *float64 { return new(float64(t.Server.Revisions)) }, landed)
	r.WatchEvents = g.per(func(t results.Trial) *float64 { return new(float64(t.Server.WatchEvents)) }, landed)
	r.ObjectBytes = average(g.each(func(t results.Trial) *float64 { return positive(t.Server.ObjectBytes) }))
	r.ManagedFields = average(g.each(func(t results.Trial) *float64 {
		if t.Server.ObjectBytes == 0 {
			return nil // no object was left to look at
		}
		return new(float64(t.Server.ManagedFieldsBytes))
	}))
	r.Verbs = g.verbs()
}

func cpuPerIntent(t results.Trial) *float64 { return millisecondsPerIntent(t, t.Server.APIServerCPU) }

func millisecondsPerIntent(t results.Trial, seconds *float64) *float64 {
	if seconds == nil || t.All.Landed == 0 {
		return nil
	}
	return new(*seconds * 1000 / float64(t.All.Landed))
}

func requests(t results.Trial) *float64 {
	total := 0
	for _, r := range t.Client.Requests {
		total += r.Count
	}
	return new(float64(total))
}

func serverAttempts(t results.Trial) *float64 {
	if othersWrote(t) {
		return nil
	}
	return t.Server.Updates
}

// othersWrote to the same kind, as controllers do to nodes: what the server counts is not the arm's then.
func othersWrote(t results.Trial) bool { return t.Server.Revisions > t.Oracle.Acknowledged }

// failedTransactions are updates that gave no revision. A trial that creates objects has revisions without updates: the
// difference says nothing then, and neither where others write.
func failedTransactions(t results.Trial) *float64 {
	if t.Server.Updates == nil || *t.Server.Updates < float64(t.Server.Revisions) || othersWrote(t) {
		return nil
	}
	return new(*t.Server.Updates - float64(t.Server.Revisions))
}

func (g group) verbs() map[string]float64 {
	landed, verbs := 0, map[string]float64{}
	for _, t := range g.trials {
		landed += t.All.Landed
		for verb, r := range t.Client.Requests {
			verbs[verb] += float64(r.Count)
		}
	}
	if landed == 0 {
		return nil
	}
	for verb := range verbs {
		verbs[verb] /= float64(landed)
	}
	return verbs
}

// extra is the mean of what the workload counts, over the trials that counted it.
func (g group) extra() results.Numbers {
	sums, counts := results.Numbers{}, results.Numbers{}
	for _, t := range g.trials {
		for name, value := range t.Extra {
			sums[name] += value
			counts[name]++
		}
	}
	for name := range sums {
		sums[name] /= counts[name]
	}
	return sums
}

// each gives a measure of the trials; nil if one of them does not have it.
func (g group) each(measure func(results.Trial) *float64) []float64 {
	var values []float64
	for _, t := range g.trials {
		value := measure(t)
		if value == nil {
			return nil
		}
		values = append(values, *value)
	}
	return values
}

func (g group) mean(measure func(results.Trial) *float64) *results.Interval {
	e, ok := statistics.Mean(g.each(measure))
	if !ok {
		return nil
	}
	return &results.Interval{Mean: e.Mean, Lo: e.Lo, Hi: e.Hi}
}

// per is the sum of a measure over that of another; nil where either is missing.
func (g group) per(measure func(results.Trial) *float64, of func(results.Trial) float64) *float64 {
	sum, divisor := 0.0, 0.0
	for _, t := range g.trials {
		value := measure(t)
		if value == nil {
			return nil
		}
		sum, divisor = sum+*value, divisor+of(t)
	}
	if divisor <= 0 {
		return nil
	}
	return new(sum / divisor)
}

func average(values []float64) *float64 {
	if e, ok := statistics.Mean(values); ok {
		return &e.Mean
	}
	return nil
}

func scaled(x *float64, by float64) *float64 {
	if x == nil {
		return nil
	}
	return new(*x * by)
}

func positive(n int) *float64 {
	if n <= 0 {
		return nil
	}
	return new(float64(n))
}

func seconds(d time.Duration) *float64 { return new(d.Seconds()) }
