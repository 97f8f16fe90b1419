package summary

import (
	"strings"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// States of a hypothesis.
const (
	holds       = "holds"
	doesNotHold = "does not hold"
	notTested   = "not tested"
	undecided   = "no verdict"
)

// hypothesis was written down before anything was measured. Its text names the arms that stand for its parts.
type hypothesis struct {
	name, text string
	parts      func(*reckoning) []part
}

// part is one thing that a hypothesis says, with what was seen of it.
type part struct {
	state string
	seen  string
}

// untested is a part that the run has no cell for.
func untested(what string) part { return part{notTested, what + " was not measured"} }

func (r *reckoning) hypotheses() []results.Hypothesis {
	var all []results.Hypothesis
	for _, h := range preregistered() {
		parts := h.parts(r)
		state, seen := together(parts), "no cell of this run tests it"
		if state != notTested {
			var texts []string
			for _, p := range parts {
				texts = append(texts, p.seen)
			}
			seen = strings.Join(texts, "; ")
		}
		if r.void != "" && state != notTested {
			state, seen = undecided, "the run is void"
		}
		all = append(all, results.Hypothesis{Name: h.name, Text: h.text, Measured: seen, State: state})
	}
	return all
}

// together: all parts have to hold, one that does not is enough against it, and one that is open leaves it open.
func together(parts []part) string {
	states := map[string]int{}
	for _, p := range parts {
		states[p.state]++
	}
	switch {
	case states[doesNotHold] > 0:
		return doesNotHold
	case states[notTested] == len(parts):
		return notTested
	case states[undecided]+states[notTested] > 0:
		return undecided
	}
	return holds
}

func preregistered() []hypothesis {
	return []hypothesis{
		{"H1", "One writer, one manager: an apply costs the API server more CPU than a PUT from a cached read (gmu-cached); " +
			"an intent by ssa is faster than by gmu-default-retry, which reads first, and slower than by gmu-cached.", oneWriter},
		{"H2", "From 8 writers with a manager each: goodput of ssa is above that of gmu-default-retry.", manyWriters},
		{"H3", "There is a number of managers from which goodput of ssa is below that of gmu-unbounded.", manyManagers},
		{"H4", "With 16 writers gmu-default-retry gives up 15 to 35 % of its intents.", giveUpRate},
		{"H5", "ssa: the client sees no 409, and from 8 writers the server makes more than 1.5 attempts for each write.", hiddenAttempts},
		{"H6", "The advantage of ssa over gmu-default-retry grows with the round-trip time.", roundTrip},
		{"H7", "Steady state: ssa makes one request for each reconcile, gmu-cached and apply make none.", steadyRequests},
		{"H8", "Lost updates: none by ssa, gmu-default-retry and merge-patch-rv; some by put-no-rv, shared-manager, " +
			"merge-patch on lists, and ssa on increments.", losses},
	}
}

// expects turns the word of a comparison into the state of a part.
func expects(word, c string) string {
	switch c {
	case word:
		return holds
	case statistics.NoVerdict, statistics.Unstable, statistics.NoDifference:
		return undecided
	}
	return doesNotHold
}

// bounded is the state of a part that says what a number is.
func bounded(ok bool) string {
	if ok {
		return holds
	}
	return doesNotHold
}

// thin says that there are too few trials for a part that is no comparison; the counting of losses needs none.
func (g group) thin() bool { return len(g.trials) < statistics.EnoughForVerdict }
