package update

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

// Errors of this package for use with errors.Is. The functions also return the errors of package apply.
var (
	// ErrExhausted means that each attempt failed with a stale write, and that Config.Backoff permits no further
	// attempt. Call again later.
	ErrExhausted = errors.New("gave up")
	// ErrIdentityChanged means that mutate, the caller's function, changed the kind, name, namespace, uid or
	// resourceVersion of the object. Nothing was written.
	ErrIdentityChanged = errors.New("nothing was written: mutate changed the kind, name, namespace, uid or resourceVersion of the object")
	// ErrBeingDeleted means that EnsureFinalizer cannot add the finalizer because the object is being deleted. Nothing
	// was written.
	ErrBeingDeleted = errors.New("the object is being deleted")
	// ErrFinalizerDropped means that the API server accepted the write of EnsureFinalizer, but that the object in its
	// response lacks the finalizer.
	ErrFinalizerDropped = errors.New("the object in the response lacks the finalizer")
	// ErrFinalizerRemains means that the API server accepted the write of RemoveFinalizer, but that the object in its
	// response still has the finalizer.
	ErrFinalizerRemains = errors.New("the object in the response still has the finalizer")
	// ErrUnknownField means that the live object has a field that the caller's Go type lacks, and that the write could
	// have dropped this field. Nothing was written.
	ErrUnknownField = errors.New("the Go type lacks a field")
)

// ExhaustedError wraps ErrExhausted and the error of the last attempt.
type ExhaustedError struct {
	Object   apply.ObjectRef
	Attempts int
	Err      error
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%v on %v after %s: %v", ErrExhausted, e.Object, count(e.Attempts), e.Err)
}

func (e *ExhaustedError) Unwrap() []error { return []error{ErrExhausted, e.Err} }

// InterruptedError means that the context ended before the first attempt, between two attempts, or while an attempt
// waited for the object's lane (Config.Lanes). Attempts does not count an attempt that was still waiting.
type InterruptedError struct {
	Object   apply.ObjectRef
	Attempts int
	Context  error // context.Canceled or context.DeadlineExceeded
	Err      error // the error of the last attempt; nil if there was no attempt
}

func (e *InterruptedError) Error() string {
	message := fmt.Sprintf("the write of %v was interrupted after %s: %v", e.Object, count(e.Attempts), e.Context)
	if e.Err != nil {
		message += fmt.Sprintf("; last error: %v", e.Err)
	}
	return message
}

func (e *InterruptedError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Context, e.Err}, func(err error) bool { return err == nil })
}

func count(attempts int) string {
	if attempts == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", attempts)
}

// resultOf returns the metrics label "result" for the error of a call. It first checks for Exhausted and Cancelled,
// because these errors may wrap a stale write.
func resultOf(err error) string {
	_, interrupted := errors.AsType[*InterruptedError](err)
	switch {
	case errors.Is(err, ErrExhausted):
		return "Exhausted"
	case interrupted:
		return "Cancelled"
	case apierrors.IsNotFound(err):
		return "NotFound"
	}
	return apply.ResultOf(err)
}
