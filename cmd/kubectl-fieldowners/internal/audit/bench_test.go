package audit

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
)

// BenchmarkAudit is the whole command over HTTP, the server included, on one core:
// 100,000 objects of which many have the same managed fields, and 100,000 that all
// differ. peak-MiB is the most memory that Go had from the system at a time.
func BenchmarkAudit(b *testing.B) {
	const objects = 100_000
	for _, kind := range []struct {
		name   string
		shapes int
	}{{"alike", 50}, {"all-different", 0}} {
		b.Run(kind.name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // testing sets it for each of them
			served := writePages(b, corpus{objects: objects, shapes: kind.shapes})
			b.SetBytes(served.bytes)
			b.ReportAllocs()
			peak := watchTaken(b)
			for b.Loop() {
				mustAudit(b, served, objects)
			}
			b.ReportMetric(float64(peak())/(1<<20), "peak-MiB")
		})
	}
}

// watchTaken begins with what is in use, not with what a benchmark before has left,
// and returns the most that was taken until it is asked.
func watchTaken(b *testing.B) (peak func() uint64) {
	b.Helper()
	debug.FreeOSMemory()
	highest := taken()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				highest = max(highest, taken())
			}
		}
	}()
	end := sync.OnceFunc(func() { close(stop); <-stopped })
	b.Cleanup(end)
	return func() uint64 { end(); return max(highest, taken()) }
}

// mustAudit audits everything that the handler has, and fails if it is not all.
func mustAudit(t testing.TB, handler http.Handler, objects int) owneraudit.Report {
	t.Helper()
	code, out, errs := auditOf(context.Background(), t, handler, "-A", "-o", "json")
	var report owneraudit.Report
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&report); err != nil {
		t.Fatal(code, err, errs)
	}
	if report.Objects != objects || !report.Complete {
		t.Fatalf("%d objects, want %d; %s", report.Objects, objects, errs)
	}
	return report
}

func taken() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// liveHeap is what is still in use after a collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // sync.Pools are emptied by the second
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
