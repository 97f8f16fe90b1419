package apply

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply/lanes"
)

// Metrics receives one observation for each Apply and one for each call of apply/update.
// Implementations must be safe for concurrent use. Package apply/metrics has the one for
// Prometheus; nil counts nothing.
type Metrics interface {
	// ObserveApply is called once at the end of each Apply.
	ObserveApply(ApplyObservation)
	// ObserveUpdate is called once at the end of each get-modify-update call.
	ObserveUpdate(UpdateObservation)
}

// ApplyObservation describes one Apply.
type ApplyObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Object       ObjectRef // as Outcome.Object
	Result       string    // the Action, or ResultOf the error
	Requests     int
	Attempts     int
	Conflicts    map[Decision]int // how many were decided so, without those settled in an earlier apply
	Forced       []Conflict       // that this apply forced; empty after an error
	Duration     time.Duration
	Waited       time.Duration // of Duration, for the lane
	Loop         *Loop         // nil unless this apply was found to be part of an endless loop
}

// UpdateObservation describes one get-modify-update call.
type UpdateObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Verb         string // Do, Status, EnsureFinalizer or RemoveFinalizer
	Result       string // "Success", or ResultOf the error
	Attempts     int    // turns in the object's lane, as update.Result.Attempts; 0 when nothing was to be written
	StaleWrites  int
	Duration     time.Duration
	Waited       time.Duration // of Duration, for the lane
}

// ResultOf returns a word from a fixed set that names the error in metrics and events:
// "Success" for nil, "Error" for an error of no class.
func ResultOf(err error) string {
	switch {
	case err == nil:
		return "Success"
	case errors.Is(err, ErrInvalidIntent):
		return "InvalidIntent"
	case errors.Is(err, ErrConflict):
		return "Conflict"
	case errors.Is(err, ErrContended):
		return "Contended"
	case errors.Is(err, ErrUIDMismatch):
		return "UIDMismatch"
	case errors.Is(err, ErrStaleWrite):
		return "StaleWrite"
	case errors.Is(err, lanes.ErrReentry):
		return "Reentry"
	case errors.Is(err, ErrRetryable):
		return "Retryable"
	case errors.Is(err, ErrRefused):
		return "Refused"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "Cancelled"
	}
	return "Error"
}

// NoMetrics counts nothing. A nil Metrics means NoMetrics.
type NoMetrics struct{}

// ObserveApply does nothing.
func (NoMetrics) ObserveApply(ApplyObservation) {}

// ObserveUpdate does nothing.
func (NoMetrics) ObserveUpdate(UpdateObservation) {}
