package scale

import (
	"fmt"

	"coapply.dev/compare/peers/measure"
)

// Rows of the table.
func (r Result) Rows() []measure.Row {
	of := fmt.Sprintf("%d objects × 4 managers, steady: ", r.Objects)
	row := func(id, what string, unit measure.Unit, must, aim, value float64, note string) measure.Row {
		return measure.Row{ID: id, Measure: of + what, Unit: unit, Must: measure.AtMost(must), Aim: measure.AtMost(aim),
			Rounds: []float64{value}, Note: note}
	}
	return []measure.Row{
		row("scale-cpu", "manager CPU, of a core", measure.Share, 0.03, 0.01, r.CPUShare,
			fmt.Sprintf("%d reconciles and %d writes of others in %v; the cache alone %s; reconcilers written by hand, in %d reconciles, %s; with nobody else writing, in %d reconciles, %s; %d writes of ours",
				r.Reconciles, r.OthersWrites, r.Took, measure.Share.Text(r.CacheCPUShare), r.ByHandReconciles, measure.Share.Text(r.ByHandCPUShare),
				r.QuietReconciles, measure.Share.Text(r.QuietCPUShare), r.WindowWrites)),
		row("scale-memory", "manager memory over the informer cache alone", measure.Bytes, 64<<20, 32<<20, float64(r.MemoryOverCache),
			fmt.Sprintf("heap; reconcilers written by hand %s; resident %s; the cache alone %s", measure.Bytes.Text(float64(r.ByHandOverCache)),
				measure.Bytes.Text(float64(r.RSSOverCache)), measure.Bytes.Text(float64(r.CacheHeap)))),
		row("scale-restart", "restart to quiet, write requests", measure.Count, 0.2*float64(r.Objects), 0, float64(r.RestartWrites),
			fmt.Sprintf("quiet after %v", r.RestartTook.Round(100e6))),
	}
}
