package results

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Range of the histograms, in microseconds: what is longer than an hour no trial can measure.
const (
	shortest = 1
	longest  = 3600 * 1000 * 1000
	digits   = 3
)

// NewHistogram is an empty histogram of microseconds, from 1 µs to an hour with three significant digits. It is not safe
// for concurrent use: one a writer, merged.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// EncodeHistogram returns a histogram as it stands in trials.jsonl: HdrHistogram's V2 compressed base64, "" for one without
// values.
func EncodeHistogram(h *hdrhistogram.Histogram) (string, error) {
	if h.TotalCount() == 0 {
		return "", nil
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(encoded), err
}

// DecodeHistogram reads what EncodeHistogram, or any other implementation of HdrHistogram, wrote.
func DecodeHistogram(encoded string) (*hdrhistogram.Histogram, error) {
	if encoded == "" {
		return NewHistogram(), nil
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("histogram: no HdrHistogram V2 in base64: %w", err)
	}
	return h, nil
}

// Distribution is the latencies of intents: of those that landed as measured, of the others without bound.
type Distribution struct {
	landed    *hdrhistogram.Histogram
	notLanded int64
}

// Merge puts the latencies of several trials together.
func Merge(latencies ...Latency) (Distribution, error) {
	all := Distribution{landed: NewHistogram()}
	for i, latency := range latencies {
		all.notLanded += int64(latency.NotLanded)
		if latency.Histogram == "" {
			continue
		}
		h, err := DecodeHistogram(latency.Histogram)
		if err != nil {
			return Distribution{}, fmt.Errorf("latency %d: %w", i+1, err)
		}
		if dropped := all.landed.Merge(h); dropped > 0 {
			return Distribution{}, fmt.Errorf("latency %d: %d of its values are longer than an hour", i+1, dropped)
		}
	}
	return all, nil
}

// Landed is how many intents have a latency.
func (d Distribution) Landed() int64 { return d.landed.TotalCount() }

// Intents is how many there were.
func (d Distribution) Intents() int64 { return d.Landed() + d.notLanded }

// Mean of the intents that landed, in milliseconds; nil if none did.
func (d Distribution) Mean() *float64 {
	if d.Landed() == 0 {
		return nil
	}
	return milliseconds(d.landed.Mean())
}

// Percentiles in milliseconds; nil where that share of intents did not land.
type Percentiles struct {
	P50, P99 *float64
	Max      *float64 // of those that landed
}

// Percentiles of all intents. One that falls among those that did not land is nil.
func (d Distribution) Percentiles() Percentiles {
	p := Percentiles{P50: d.percentile(50), P99: d.percentile(99)}
	if d.Landed() > 0 {
		p.Max = milliseconds(float64(d.landed.Max()))
	}
	return p
}

// percentile is by nearest rank.
func (d Distribution) percentile(p float64) *float64 {
	rank := max(1, int64(math.Ceil(p/100*float64(d.Intents()))))
	if rank > d.Landed() {
		return nil
	}
	return milliseconds(float64(d.landed.ValueAtPercentile(100 * float64(rank) / float64(d.Landed()))))
}

func milliseconds(microseconds float64) *float64 {
	ms := microseconds / 1000
	return &ms
}
