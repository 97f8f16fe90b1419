package update

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// Sentinels for errors.Is. Those of package apply are returned as well.
var (
	// ErrExhausted says that every attempt that the backoff allows failed. Try again
	// later.
	ErrExhausted = errors.New("gave up")
	// ErrIdentityChanged says that mutate turned the object into another one: it
	// changed its kind, name, namespace, uid or resourceVersion. Nothing was written.
	ErrIdentityChanged = errors.New("mutate changed the identity of the object")
	// ErrBeingDeleted says that an object that is being deleted takes no new
	// finalizer. Nothing was written.
	ErrBeingDeleted = errors.New("the object is being deleted")
	// ErrFinalizerDropped says that the server accepted a new finalizer and the
	// finalizer is not there.
	ErrFinalizerDropped = errors.New("the finalizer is not there")
	// ErrFinalizerRemains says that the server accepted the removal of a finalizer
	// and the finalizer is still there.
	ErrFinalizerRemains = errors.New("the finalizer is still there")
)

// ExhaustedError is ErrExhausted with the number of attempts and the last error.
type ExhaustedError struct {
	Object   apply.ObjectRef // zero from RetryOnConflict and OnError, which know of no object
	Attempts int
	Err      error
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("%v%s after %s: %v", ErrExhausted, on(e.Object), count(e.Attempts), e.Err)
}

// Unwrap gives ErrExhausted and the last error.
func (e *ExhaustedError) Unwrap() []error { return []error{ErrExhausted, e.Err} }

// InterruptedError says that the context ended between two attempts, before the
// first, or while one waited for the object's lane; that one does not count.
type InterruptedError struct {
	Object   apply.ObjectRef // zero from RetryOnConflict and OnError, which know of no object
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

// Unwrap gives the context's error and the last attempt's.
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
	Managers  []fieldowners.Manager // by the answer's managed fields; none when it had none
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

// Unwrap gives ErrFinalizerRemains.
func (e *FinalizerRemainsError) Unwrap() error { return ErrFinalizerRemains }

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

// resultOf names an error for metrics. Exhausted and Cancelled come before the
// stale write that they wrap.
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
