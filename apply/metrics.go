package apply

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply/lanes"
)

// Metrics receives one observation for each Apply and one for each call of
// apply/update. Implementations must be safe for concurrent use. coapply.dev/apply/metrics
// is the Prometheus one; nil counts nothing.
type Metrics interface {
	// ObserveApply is called once at the end of each Apply.
	ObserveApply(ApplyObservation)
	// ObserveUpdate is called once at the end of each get-modify-update call.
	ObserveUpdate(UpdateObservation)
}

// ApplyObservation is what one Apply amounted to.
type ApplyObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Object       ObjectRef // as Outcome.Object
	Result       string    // the Action, or after an error its ResultOf
	Requests     int
	Attempts     int
	Conflicts    map[Decision]int // by what was decided, without those settled in an earlier apply
	Duration     time.Duration
	Waited       time.Duration // of Duration, for the lane
}

// UpdateObservation is what one get-modify-update call amounted to.
type UpdateObservation struct {
	FieldManager string
	Kind         schema.GroupVersionKind
	Verb         string // Do, Status, EnsureFinalizer or RemoveFinalizer
	Result       string // "Success", or after an error its ResultOf
	Attempts     int    // live reads, each with the write that followed; 0 when nothing was to be written
	StaleWrites  int
	Duration     time.Duration
	Waited       time.Duration // of Duration, for the lane
}

// ResultOf names an error for metrics and events: a word from a fixed set.
func ResultOf(err error) string {
	switch {
	case err == nil:
		return "Success"
	case errors.Is(err, ErrInvalidIntent):
		return "InvalidIntent"
	case errors.Is(err, ErrShrink):
		return "Shrink"
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

// NoMetrics counts nothing. It is what a nil Metrics stands for.
type NoMetrics struct{}

// ObserveApply does nothing.
func (NoMetrics) ObserveApply(ApplyObservation) {}

// ObserveUpdate does nothing.
func (NoMetrics) ObserveUpdate(UpdateObservation) {}
