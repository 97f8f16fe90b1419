package results

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of histograms in microseconds, and their number of significant digits. A trial takes less than one hour.
const (
	shortest = 1
	longest  = 3600 * 1000 * 1000
	digits   = 3
)

// NewHistogram returns an empty histogram of microseconds, from 1 µs to one hour, with three significant digits. It is not
// safe for concurrent use: use one for each writer, and merge them.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(shortest, longest, digits) }

// EncodeHistogram encodes a histogram for trials.jsonl, as HdrHistogram's V2 compressed format in base64. For an empty
// histogram it returns "".
func EncodeHistogram(h *hdrhistogram.Histogram) (string, error) {
	if h.TotalCount() == 0 {
		return "", nil
	}
	encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	return string(encoded), err
}

// DecodeHistogram decodes the result of EncodeHistogram, or of any other implementation of HdrHistogram.
func DecodeHistogram(encoded string) (*hdrhistogram.Histogram, error) {
	if encoded == "" {
		return NewHistogram(), nil
	}
	h, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("decoding a histogram: the text is not an HdrHistogram V2 in base64: %w", err)
	}
	return h, nil
}

// Distribution is a distribution of the latencies of intents. Intents that did not land count with an infinite latency.
type Distribution struct {
	landed    *hdrhistogram.Histogram
	notLanded int64
}

// Merge combines the given latencies into one distribution. It returns an error if a histogram is
// invalid. If several histograms are given, a value above one hour is an error, too.
func Merge(latencies ...Latency) (Distribution, error) {
	var all Distribution
	for i, latency := range latencies {
		all.notLanded += int64(latency.NotLanded)
		if latency.Histogram == "" {
			continue
		}
		h, err := DecodeHistogram(latency.Histogram)
		if err != nil {
			return Distribution{}, fmt.Errorf("merging latency %d: %w", i+1, err)
		}
		if len(latencies) == 1 {
			return Distribution{landed: h, notLanded: all.notLanded}, nil // without a copy, which takes as long as decoding
		}
		if all.landed == nil {
			all.landed = NewHistogram()
		}
		if dropped := all.landed.Merge(h); dropped > 0 {
			return Distribution{}, fmt.Errorf("merging latency %d: %d values are longer than one hour", i+1, dropped)
		}
	}
	if all.landed == nil {
		all.landed = NewHistogram()
	}
	return all, nil
}

// Landed returns the number of intents that landed.
func (d Distribution) Landed() int64 { return d.landed.TotalCount() }

// Intents returns the number of all intents.
func (d Distribution) Intents() int64 { return d.Landed() + d.notLanded }

// Mean returns the mean latency in milliseconds of the intents that landed, or nil if none landed.
func (d Distribution) Mean() *float64 {
	if d.Landed() == 0 {
		return nil
	}
	return milliseconds(d.landed.Mean())
}

// Percentile returns the given percentile of the latencies of all intents in milliseconds, by the nearest-rank
// method. It returns nil if the percentile is infinite, because too many intents did not land.
func (d Distribution) Percentile(p float64) *float64 {
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
