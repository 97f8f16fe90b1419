package update

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
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

// Unwrap returns ErrExhausted and the last error.
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

// Unwrap returns the context's error and that of the last attempt.
func (e *InterruptedError) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Context}
	}
	return []error{e.Context, e.Err}
}

// FinalizerDroppedError is ErrFinalizerDropped with the finalizer.
type FinalizerDroppedError struct {
	Object    apply.ObjectRef
	Finalizer string
}

func (e *FinalizerDroppedError) Error() string {
	return fmt.Sprintf("adding finalizer %s to %v: the server accepted the write and %v; look for a mutating webhook or admission policy for %s that sets metadata.finalizers",
		e.Finalizer, e.Object, ErrFinalizerDropped, e.Object.Kind)
}

// Unwrap returns ErrFinalizerDropped.
func (e *FinalizerDroppedError) Unwrap() error { return ErrFinalizerDropped }

// FinalizerRemainsError is ErrFinalizerRemains with who owns the finalizer.
type FinalizerRemainsError struct {
	Object    apply.ObjectRef
	Finalizer string
	Managers  []fieldowners.Manager // by the answer's managed fields; empty if it has none
}

func (e *FinalizerRemainsError) Error() string {
	var owners []string
	for _, m := range e.Managers {
		owners = append(owners, m.String())
	}
	if len(owners) == 0 {
		owners = []string{"no recorded manager"}
	}
	return fmt.Sprintf("removing finalizer %s from %v: %v, owned by %s",
		e.Finalizer, e.Object, ErrFinalizerRemains, strings.Join(owners, ", "))
}

// Unwrap returns ErrFinalizerRemains.
func (e *FinalizerRemainsError) Unwrap() error { return ErrFinalizerRemains }

// UnknownFieldError is ErrUnknownField with the field. mutate changed or removed a list item, and
// coapply cannot match that item with a live item. For example, the API server's schema has no
// keys for the list.
type UnknownFieldError struct {
	Object apply.ObjectRef
	Field  string // of the live object, such as .spec.steps[1].timeout
	List   string // such as .spec.steps
	GoType reflect.Type
	Err    error // why the item cannot be matched with a live item
}

func (e *UnknownFieldError) Error() string {
	return fmt.Sprintf("%v: nothing was written: an item of %s was changed or removed and cannot be matched with a live item (%v), "+
		"so the write could drop %s, which %v does not have; pass an *unstructured.Unstructured, or add the field to the Go type",
		e.Object, e.List, e.Err, e.Field, e.GoType)
}

// Unwrap returns ErrUnknownField, and the reason why the item cannot be matched with a live item.
func (e *UnknownFieldError) Unwrap() []error { return []error{ErrUnknownField, e.Err} }

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
