package target

import (
	"slices"
)

// where is a selector for time series. It maps each required label to the allowed values.
type where map[string][]string

// sum returns the sum of the selected time series of a metric. It returns false if no time series of the metric has all labels
// of the selector. If some have the labels but none has the selected values, nothing was counted yet, and the sum is 0.
func (p page) sum(name string, of where) (float64, bool) {
	sum, known := 0.0, false
	for _, s := range p[name] {
		has, matches := of.in(s.labels)
		known = known || has
		if matches {
			sum += s.value
		}
	}
	return sum, known
}

func (w where) in(labels map[string]string) (has, matches bool) {
	matches = true
	for name, values := range w {
		value, ok := labels[name]
		if !ok {
			return false, false
		}
		matches = matches && slices.Contains(values, value)
	}
	return true, matches
}

// grown returns the growth of a counter between two pages. It returns nil if a page lacks the counter, or if
// the server was restarted.
func grown(before, after page, name string, of where) *float64 {
	if restarted(before, after) {
		return nil
	}
	from, knownBefore := before.sum(name, of)
	to, known := after.sum(name, of)
	// A counter without labels is on every page. A counter with labels may be missing on the page before, until
	// it counts for the first time.
	if !known || (!knownBefore && (before == nil || len(of) == 0)) || to < from {
		return nil
	}
	growth := to - from
	return &growth
}

// restarted reports whether the two pages are from different processes, such as after a restart of the server.
func restarted(before, after page) bool {
	from, _ := before.sum(startTime, nil)
	to, _ := after.sum(startTime, nil)
	return from != to
}
