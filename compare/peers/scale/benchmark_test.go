package scale

import (
	"context"
	"testing"

	"coapply.dev/compare/target"
)

// BenchmarkIdle measures once, whatever -benchtime says, with 10,000 objects for ten minutes each, or with -short few for a moment.
func BenchmarkIdle(b *testing.B) {
	objects, window := 10_000, Window
	if testing.Short() {
		objects, window = 100, Window/300
	}
	on, err := target.Local(b.Context(), b.Output())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := on.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	r, err := run(b.Context(), on.Admin(), objects, window, b.Output())
	if err != nil {
		b.Fatal(err)
	}
	for unit, value := range map[string]float64{
		"objects": float64(r.Objects), "cpu": r.CPUShare, "cpu-cache": r.CacheCPUShare, "cpu-by-hand": r.ByHandCPUShare, "cpu-quiet": r.QuietCPUShare,
		"heap-bytes": float64(r.MemoryOverCache), "heap-by-hand-bytes": float64(r.ByHandOverCache),
		"restart-writes": float64(r.RestartWrites), "reconciles": float64(r.Reconciles), "others-writes": float64(r.OthersWrites),
	} {
		b.ReportMetric(value, unit)
	}
}
