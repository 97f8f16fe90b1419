package trial

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// latencies are of intents that landed; the others are without bound.
type latencies struct {
	landed    *hdrhistogram.Histogram
	notLanded int
}

func newLatencies() *latencies { return &latencies{landed: results.NewHistogram()} }

func (l *latencies) add(m measured, from time.Duration) {
	if m.Outcome != history.Landed {
		l.notLanded++
		return
	}
	record(l.landed, m.Ended-from-m.Paused)
}

func (l *latencies) result() (results.Latency, error) {
	encoded, err := results.EncodeHistogram(l.landed)
	return results.Latency{Histogram: encoded, NotLanded: l.notLanded}, err
}

// record clamps what a histogram has no room for.
func record(histogram *hdrhistogram.Histogram, latency time.Duration) {
	_ = histogram.RecordValue(min(max(latency.Microseconds(), 1), histogram.HighestTrackableValue()))
}
