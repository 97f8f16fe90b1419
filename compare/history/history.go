// Package history defines what a trial records: every intent with its outcome, and every version of every object,
// as the watch of the API server reported it. The package oracle needs only the history to find lost updates.
package history

import "time"

// Outcome is the outcome of an intent, or of one part of it.
type Outcome string

// The outcomes. GaveUp, Rejected and Failed mean that nothing was stored: the API server rejected or never got the write.
const (
	Landed   Outcome = "landed"   // acknowledged by the API server
	GaveUp   Outcome = "gave-up"  // every write was stale, until the arm stopped retrying or was interrupted
	Rejected Outcome = "rejected" // an ownership conflict
	Failed   Outcome = "failed"   // any other error, such as a failed read before the first write
	Unknown  Outcome = "unknown"  // there was no response: the write may have landed
	Noted    Outcome = "noted"    // a write of the workload itself, recorded before it was sent
)

// Operation is the record of an intent, or of one part of an intent, with its outcome.
type Operation struct {
	Writer   int    `json:"writer"`
	Sequence int    `json:"sequence"`
	Object   string `json:"object"` // KIND/NAMESPACE/NAME
	Manager  string `json:"manager,omitempty"`
	// Wants and Increments are the fields of the same names of compare.Intent.
	Wants      map[string]string `json:"wants,omitempty"`
	Increments string            `json:"increments,omitempty"`
	// Begin and End are the times at which the write began and ended, since the start of the trial.
	Begin   time.Duration `json:"beginNs"`
	End     time.Duration `json:"endNs"`
	Outcome Outcome       `json:"outcome"`
	// Revision is the resourceVersion in the API server's response to the write. It is "" if no write was acknowledged.
	Revision string `json:"revision,omitempty"`
	// Skipped means that the arm sent no write, because the object already had the wanted values.
	Skipped bool   `json:"skipped,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Version is one version of an object: the state after one write.
type Version struct {
	Object   string            `json:"object"`
	Revision uint64            `json:"revision"`
	Deleted  bool              `json:"deleted,omitempty"`
	Fields   map[string]string `json:"fields,omitempty"` // the values of the tracked fields
}

// History is the record of a trial. The versions are sorted by revision, without duplicates. The first version of an
// object is its creation, or its state at the start of the watch.
type History struct {
	Operations []Operation `json:"operations"`
	Versions   []Version   `json:"versions"`
}
