package summarytest

import (
	"time"

	"coapply.dev/compare/results"
)

func client(t results.Trial, b behaviour) results.Client {
	intents := t.All.Intents
	writes := t.All.Landed - t.All.Skipped
	stale := max(t.All.GaveUp, int(float64(intents)*b.stale+0.5))
	if b.noop {
		stale = 0
	}
	requests := map[string]results.Requests{}
	if writes > 0 {
		requests[b.verb+" 200"] = results.Requests{Count: writes}
	}
	if stale > 0 {
		requests[b.verb+" 409"] = results.Requests{Count: stale}
	}
	if reads := int(float64(intents) * b.reads); reads > 0 && !b.noop {
		requests["GET 200"] = results.Requests{Count: reads}
	}
	total := 0
	for _, r := range requests {
		total += r.Count
	}
	elapsed := time.Duration(t.Writers) * (t.Warmup + t.Measured)
	own := elapsed / 100
	return results.Client{
		Requests: requests, StaleWrites: stale, BytesUp: int64(total) * 700, BytesDown: int64(total) * 1500,
		Connections: t.Writers, Protocol: "HTTP/2.0", CPU: 0.0006 * float64(total+t.All.Landed),
		Busy: elapsed - own, Own: own,
	}
}

func server(t results.Trial, b behaviour) results.Server {
	writes := float64(t.All.Landed - t.All.Skipped)
	cpu, etcd := b.cpu*float64(t.All.Landed)/1000, 0.4*writes*b.attempts/1000
	if b.noop {
		cpu = 0.01
	}
	updates, proposals := writes*b.attempts, writes*b.attempts+5
	allocs, bytes, seconds, gets, queue := 4000*cpu*100, 3e5*cpu*100, cpu*2, writes*b.reads, 0.01
	return results.Server{
		APIServerCPU: &cpu, EtcdCPU: &etcd, APIServerAllocs: &allocs, APIServerBytes: &bytes, RequestSeconds: &seconds,
		Updates: &updates, Gets: &gets, Proposals: &proposals, Revisions: int(writes), WatchEvents: int(writes),
		ObjectBytes: 600 + 250*t.Managers, ManagedFieldsBytes: 180 * t.Managers, QueueSeconds: &queue,
		PriorityLevel: "global-default",
	}
}

func judged(t results.Trial, share float64) results.Oracle {
	writes := t.All.Landed - t.All.Skipped
	o := results.Oracle{Acknowledged: writes, Found: writes}
	lost := int(share * float64(writes))
	if lost == 0 {
		return o
	}
	kind := "lost"
	if t.Workload == "increment" {
		kind, o.LostIncrements = "lost-increment", lost
	} else {
		o.Lost = lost
	}
	o.Violations = []results.Violation{{
		Kind: kind, Object: "ConfigMap/compare/hot-0", Field: "w1", Revision: 1234, Writer: 1, By: 0, Before: "w1-7", After: "w1-6",
	}}
	return o
}
