package update

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
)

// Sentinels for errors.Is, beside those of package apply.
var (
	// ErrExhausted means that every attempt that the backoff allows failed. Try again later.
	ErrExhausted = errors.New("gave up")
	// ErrIdentityChanged means that mutate changed the kind, name, namespace, uid or
	// resourceVersion of the object. Nothing was written.
	ErrIdentityChanged = errors.New("mutate changed the identity of the object")
	// ErrBeingDeleted means that the object is being deleted and takes no new finalizer.
	// Nothing was written.
	ErrBeingDeleted = errors.New("the object is being deleted")
	// ErrFinalizerDropped means that the server accepted the write, and the new finalizer is
	// not there.
	ErrFinalizerDropped = errors.New("the finalizer is not there")
	// ErrFinalizerRemains means that the server accepted the write, and the removed finalizer
	// is still there.
	ErrFinalizerRemains = errors.New("the finalizer is still there")
	// ErrUnknownField means that the write could drop a field that the live object has and the Go
	// type lacks. Nothing was written.
	ErrUnknownField = errors.New("the Go type lacks a field")
)

// ExhaustedError is ErrExhausted with the number of attempts and the last error.
type ExhaustedError struct {
	Object   apply.ObjectRef
	Attempts int
	Err      error
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%v%s after %s: %v", ErrExhausted, on(e.Object), count(e.Attempts), e.Err)
}

func (e *ExhaustedError) Unwrap() []error { return []error{ErrExhausted, e.Err} }

// InterruptedError means that the context ended before the first attempt, between two attempts,
// or while one waited for the object's lane; that one does not count as an attempt.
type InterruptedError struct {
	Object   apply.ObjectRef
	Attempts int
	Context  error // context.Canceled or context.DeadlineExceeded
	Err      error // of the last attempt; nil when there was none
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

// resultOf returns the error's name in metrics. Exhausted and Cancelled come before the stale
// write that they may wrap.
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
