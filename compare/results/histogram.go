package results

import (
	"fmt"
	"math"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// NewHistogram returns an empty histogram of microseconds, from 1 µs to one hour, with three significant digits. It is not
// safe for concurrent use: use one for each writer, and merge them.
func NewHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, time.Hour.Microseconds(), 3) }

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

// Merge combines the given latencies into one distribution. It returns an error if a histogram is invalid.
func Merge(latencies ...Latency) (Distribution, error) {
	if len(latencies) == 0 {
		return Distribution{landed: NewHistogram()}, nil
	}
	var all Distribution
	for i, latency := range latencies {
		h, err := DecodeHistogram(latency.Histogram)
		if err != nil {
			return Distribution{}, fmt.Errorf("merging latency histogram %d: %w", i+1, err)
		}
		if i == 0 {
			all.landed = h
		} else {
			all.landed.Merge(h)
		}
		all.notLanded += int64(latency.NotLanded)
	}
	return all, nil
}

// Intents returns the number of all intents.
func (d Distribution) Intents() int64 { return d.landed.TotalCount() + d.notLanded }

// Mean returns the mean latency in milliseconds of the intents that landed, or nil if none landed.
func (d Distribution) Mean() *float64 {
	if d.landed.TotalCount() == 0 {
		return nil
	}
	return new(d.landed.Mean() / 1000)
}

// Percentile returns the given percentile of the latencies of all intents in milliseconds, by the nearest-rank
// method. It returns nil if the percentile is infinite, because too many intents did not land.
func (d Distribution) Percentile(p float64) *float64 {
	rank, landed := max(1, int64(math.Ceil(p/100*float64(d.Intents())))), d.landed.TotalCount()
	if rank > landed {
		return nil
	}
	return new(float64(d.landed.ValueAtPercentile(100*float64(rank)/float64(landed))) / 1000)
}
