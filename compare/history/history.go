// Package history is what a trial records: every intent with what came of it, and every version of every object as the
// API server's watch gave it. The oracle judges it; nothing else of the benchmark is needed to do so.
package history

import "time"

// Outcome of an intent, or of a part of one.
type Outcome string

// Outcomes. Every one but Landed and Unknown says that the API server refused, or was not asked.
const (
	Landed   Outcome = "landed"   // acknowledged by the API server
	GaveUp   Outcome = "gave-up"  // stale writes until the arm stopped trying
	Rejected Outcome = "rejected" // an ownership conflict
	Failed   Outcome = "failed"   // any other error of the API server
	Unknown  Outcome = "unknown"  // no answer: it may have landed
	Noted    Outcome = "noted"    // the workload's own write, announced before it was made
)

// Operation is one intent (or part) with what came of it.
type Operation struct {
	Writer   int    `json:"writer"`
	Sequence int    `json:"sequence"`
	Object   string `json:"object"` // kind/namespace/name
	Manager  string `json:"manager,omitempty"`
	// Wants and Increments are those of the intent.
	Wants      map[string]string `json:"wants,omitempty"`
	Increments string            `json:"increments,omitempty"`
	// Begin and End since the start of the trial.
	Begin   time.Duration `json:"beginNs"`
	End     time.Duration `json:"endNs"`
	Outcome Outcome       `json:"outcome"`
	// Revision is the resourceVersion that was acknowledged; "" if none was.
	Revision string `json:"revision,omitempty"`
	// Skipped says that the arm found nothing to write.
	Skipped bool   `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Version is an object as one write left it.
type Version struct {
	Object   string            `json:"object"`
	Revision uint64            `json:"revision"`
	Deleted  bool              `json:"deleted,omitempty"`
	Fields   map[string]string `json:"fields,omitempty"` // tracked fields only
}

// History of a trial. Versions are in the order of their revisions, each revision once: the first of an object is the one
// that stood when the watch began.
type History struct {
	Operations []Operation `json:"operations"`
	Versions   []Version   `json:"versions"`
}
