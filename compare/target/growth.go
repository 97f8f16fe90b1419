package target

import (
	"slices"
)

// where selects by each of its labels one of the values.
type where map[string][]string

// sum adds up what is selected. It is false if the page does not have the counter, or not those labels; a counter that
// has them, but none with such a value, has not counted yet and is 0.
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

// grown is what a counter has grown by between two pages; nil if one of them does not have it, or it began again.
func grown(before, after page, name string, of where) *float64 {
	if restarted(before, after) {
		return nil
	}
	from, knownBefore := before.sum(name, of)
	to, known := after.sum(name, of)
	// A counter with labels is on the page from what it first counts; one without, from the start.
	if !known || (!knownBefore && (before == nil || len(of) == 0)) || to < from {
		return nil
	}
	growth := to - from
	return &growth
}

// restarted says that the pages are not of one and the same process.
func restarted(before, after page) bool {
	from, _ := before.sum(startTime, nil)
	to, _ := after.sum(startTime, nil)
	return from != to
}
