package main

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
)

// BenchmarkAudit is the whole command over HTTP, the server included: 100,000 objects
// of which many have the same managed fields, and 100,000 that all differ. Run it with
// GOMAXPROCS=1. peak-MiB is all memory that Go took from the system.
func BenchmarkAudit(b *testing.B) {
	const objects = 100_000
	for name, shapes := range map[string]int{"alike": 50, "all-different": 0} {
		b.Run(name, func(b *testing.B) {
			served := writePages(b, corpus{objects: objects, shapes: shapes})
			b.SetBytes(served.bytes)
			b.ReportAllocs()
			for b.Loop() {
				mustAudit(b, served, objects)
			}
			b.ReportMetric(float64(taken())/(1<<20), "peak-MiB")
		})
	}
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
