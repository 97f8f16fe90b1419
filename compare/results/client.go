package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MergeClients adds up the counts of the processes of one trial.
func MergeClients(clients ...Client) (Client, error) {
	all := Client{Requests: map[string]Requests{}}
	var protocols []string
	var trouble []error
	for _, c := range clients {
		for key, requests := range c.Requests {
			merged, err := all.Requests[key].add(requests)
			if err != nil {
				trouble = append(trouble, fmt.Errorf("adding up the latencies of the requests %s: %w", key, err))
			}
			all.Requests[key] = merged
		}
		all.Conflicts += c.Conflicts
		all.StaleWrites += c.StaleWrites
		all.Throttled += c.Throttled
		all.BytesUp += c.BytesUp
		all.BytesDown += c.BytesDown
		all.Connections += c.Connections
		all.CPU += c.CPU
		all.Busy += c.Busy
		all.Own += c.Own
		all.Waited += c.Waited
		all.LimiterWaits += c.LimiterWaits
		if c.Protocol != "" && !slices.Contains(protocols, c.Protocol) {
			protocols = append(protocols, c.Protocol)
		}
	}
	all.Protocol = strings.Join(protocols, ", ")
	return all, errors.Join(trouble...)
}

func (r Requests) add(other Requests) (Requests, error) {
	sum, err := DecodeHistogram(r.Histogram)
	if err != nil {
		return r, err
	}
	more, err := DecodeHistogram(other.Histogram)
	if err != nil {
		return r, err
	}
	sum.Merge(more) // drops no values: both histograms have the same range
	encoded, err := EncodeHistogram(sum)
	return Requests{Count: r.Count + other.Count, Histogram: encoded}, err
}
