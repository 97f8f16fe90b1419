package update

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

// Errors of this package for errors.Is, in addition to those of package apply.
var (
	// ErrExhausted means that all attempts that Config.Backoff allows have failed. Call again later.
	ErrExhausted = errors.New("gave up")
	// ErrIdentityChanged means that mutate changed the kind, name, namespace, uid or
	// resourceVersion of the object. Nothing was written.
	ErrIdentityChanged = errors.New("nothing was written: mutate changed the kind, name, namespace, uid or resourceVersion of the object")
	// ErrBeingDeleted means that EnsureFinalizer cannot add the finalizer, because the object is
	// being deleted. Nothing was written.
	ErrBeingDeleted = errors.New("the object is being deleted")
	// ErrFinalizerDropped means that the API server accepted the write of EnsureFinalizer, but the
	// object in its response lacks the finalizer.
	ErrFinalizerDropped = errors.New("the object in the response lacks the finalizer")
	// ErrFinalizerRemains means that the API server accepted the write of RemoveFinalizer, but the
	// object in its response still has the finalizer.
	ErrFinalizerRemains = errors.New("the object in the response still has the finalizer")
	// ErrUnknownField means that nothing was written, because the write could drop a field that the live
	// object has and the Go type of the caller's object lacks.
	ErrUnknownField = errors.New("the Go type lacks a field")
)

// ExhaustedError means that all attempts that Config.Backoff allows have failed. It matches ErrExhausted.
type ExhaustedError struct {
	Object   apply.ObjectRef
	Attempts int
	Err      error
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%v%s after %s: %v", ErrExhausted, on(e.Object), count(e.Attempts), e.Err)
}

func (e *ExhaustedError) Unwrap() []error { return []error{ErrExhausted, e.Err} }

// InterruptedError means that the context ended before the first attempt, between two attempts, or while
// an attempt waited for the object's lane (Config.Lanes). The waiting attempt is not counted in Attempts.
type InterruptedError struct {
	Object   apply.ObjectRef
	Attempts int
	Context  error // context.Canceled or context.DeadlineExceeded
	Err      error // the error of the last attempt; nil if there was no attempt
}

func (e *InterruptedError) Error() string {
	message := fmt.Sprintf("interrupted%s after %s: %v", on(e.Object), count(e.Attempts), e.Context)
	if e.Err != nil {
		message += fmt.Sprintf("; last error: %v", e.Err)
	}
	return message
}

func (e *InterruptedError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Context}
	}
	return []error{e.Context, e.Err}
}

func on(object apply.ObjectRef) string {
	if object.Name == "" {
		return ""
	}
	return " on " + object.String()
}

func count(attempts int) string {
	if attempts == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", attempts)
}

// resultOf returns the value of the metrics label "result" for the error of a call. It checks for
// Exhausted and Cancelled first, because these errors may wrap a stale write.
func resultOf(err error) string {
	interrupted := (*InterruptedError)(nil)
	switch {
	case errors.Is(err, ErrExhausted):
		return "Exhausted"
	case errors.As(err, &interrupted):
		return "Cancelled"
	case apierrors.IsNotFound(err):
		return "NotFound"
	}
	return apply.ResultOf(err)
}
