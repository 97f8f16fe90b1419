package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Sentinels for errors.Is. Each typed error below unwraps to its sentinel and, if there is one,
// to the server's answer.
var (
	// ErrInvalidIntent means that the intent was refused before any request.
	ErrInvalidIntent = errors.New("invalid intent")
	// ErrConflict means that another manager owns fields that the intent sets differently, and
	// that the policy rejects the conflict. The apply that met it changed nothing.
	ErrConflict = errors.New("ownership conflict")
	// ErrContended means that the object changed during each of a bounded number of attempts to
	// settle its conflicts or to move its fields. Nothing was forced or moved. Try again later.
	ErrContended = errors.New("contended")
	// ErrStaleWrite means that the object is no longer at the resourceVersion to which the
	// write was pinned. Read it again.
	ErrStaleWrite = errors.New("stale write")
	// ErrUIDMismatch means that the object was deleted or recreated. An object that has its
	// name now was not touched.
	ErrUIDMismatch = errors.New("uid mismatch")
	// ErrRetryable means that the server or the way to it failed for the moment. The write may
	// have landed: an answer that cannot be interpreted is no refusal.
	ErrRetryable = errors.New("retryable")
	// ErrRefused means that the server (validation, permission, an unknown field, size, a
	// terminating namespace) or a client on the way refused the request. Sending the same again
	// at once does not help.
	ErrRefused = errors.New("refused")
)

// IntentError is ErrInvalidIntent with its reason.
type IntentError struct {
	Object ObjectRef // as far as it is known
	Err    error
}

func (e *IntentError) Error() string {
	if e.Object.Kind == "" {
		return fmt.Sprintf("%v: %s", ErrInvalidIntent, wire.OneLine(e.Err))
	}
	return fmt.Sprintf("%v for %v: %s", ErrInvalidIntent, e.Object, wire.OneLine(e.Err))
}

func (e *IntentError) Unwrap() []error { return []error{ErrInvalidIntent, e.Err} }

// ConflictError is ErrConflict with every conflict of the judged answer: the rejected ones, and
// those that would have been settled.
type ConflictError struct {
	Object       ObjectRef
	Subresource  string // "" for the object itself
	FieldManager string // who wanted the fields
	Conflicts    []Conflict
	Err          error // the server's answer
}

func (e *ConflictError) Error() string {
	var parts []string
	own := false
	for _, c := range e.Conflicts {
		if c.Decision == Reject {
			parts = append(parts, c.String())
			own = own || c.Own
		}
	}
	object := e.Object.String()
	if e.Subresource != "" {
		object += " (" + e.Subresource + ")"
	}
	message := fmt.Sprintf("%v on %s: %s cannot set %s", ErrConflict, object, e.FieldManager, strings.Join(parts, "; "))
	switch {
	case own && e.Subresource == "":
		message += fmt.Sprintf("; `kubectl fieldowners migrate %s/%s --from %s --to %[3]s` makes one owner of the two",
			strings.ToLower(e.Object.Kind), e.Object.Name, e.FieldManager)
	case own:
		message += "; set the field with the object or through " + e.Subresource + ", not both"
	default:
		message += "; a retry meets the same conflict"
	}
	return message
}

func (e *ConflictError) Unwrap() []error { return []error{ErrConflict, e.Err} }

// ContendedError is ErrContended with what was tried.
type ContendedError struct {
	Object    ObjectRef
	Attempts  int        // writes and dry runs sent
	Conflicts []Conflict // of the last judged answer; empty for a Transfer
	Err       error      // the server's last answer
}

func (e *ContendedError) Error() string {
	return fmt.Sprintf("%v: %v changed under every attempt (%d writes sent); nothing was forced or moved, try again later",
		ErrContended, e.Object, e.Attempts)
}

func (e *ContendedError) Unwrap() []error { return []error{ErrContended, e.Err} }

// StaleWriteError is ErrStaleWrite with the server's answer.
type StaleWriteError struct {
	Object ObjectRef
	Err    error
}

func (e *StaleWriteError) Error() string {
	return fmt.Sprintf("%v: %v changed since it was read: %s", ErrStaleWrite, e.Object, wire.OneLine(e.Err))
}

func (e *StaleWriteError) Unwrap() []error { return []error{ErrStaleWrite, e.Err} }

// UIDMismatchError is ErrUIDMismatch with the uid that was meant.
type UIDMismatchError struct {
	Object ObjectRef // with the uid that was meant
	Err    error
}

func (e *UIDMismatchError) Error() string {
	if e.Object.UID == "" {
		return fmt.Sprintf("%v: %v was deleted or recreated; what has its name now was left alone", ErrUIDMismatch, e.Object)
	}
	return fmt.Sprintf("%v: %v (uid %s) was deleted or recreated; what has its name now was left alone",
		ErrUIDMismatch, e.Object, e.Object.UID)
}

func (e *UIDMismatchError) Unwrap() []error { return []error{ErrUIDMismatch, e.Err} }

// RetryableError is ErrRetryable with the wait that the server asked for.
type RetryableError struct {
	Object ObjectRef
	After  time.Duration // 0 when the server named none
	Err    error
}

func (e *RetryableError) Error() string {
	return fmt.Sprintf("writing %v failed for the moment: %s", e.Object, wire.OneLine(e.Err))
}

func (e *RetryableError) Unwrap() []error { return []error{ErrRetryable, e.Err} }

// RefusedError is ErrRefused with the server's answer.
type RefusedError struct {
	Object ObjectRef
	Err    error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v is %v: %s", e.Object, ErrRefused, wire.OneLine(e.Err))
}

func (e *RefusedError) Unwrap() []error { return []error{ErrRefused, e.Err} }

// ErrNotOurs means that an object is someone else's. A client given to an Applier may refuse to
// write to such an object by an error that matches ErrNotOurs.
var ErrNotOurs = errors.New("someone else's")

// NotOursError is ErrNotOurs and ErrRefused: an object that somebody else made has the name of
// one that the intent wants for its manager (Intent.Belongs). Nothing was written to the
// object.
type NotOursError struct {
	Object ObjectRef
	Owner  string // its controller, as kind and name; "" if there is none
	// Managers are the field managers that own fields of the object.
	Managers []fieldowners.Manager
}

func (e *NotOursError) Error() string {
	because := ""
	switch {
	case e.Owner != "":
		because = ", controlled by the " + e.Owner
	case len(e.Managers) > 0:
		because = " by the rule of Belongs: it has no controller, and fields of " + namesOf(e.Managers)
	}
	return fmt.Sprintf("%v is %v: an object of that name was there before and is %v%s; delete it, use another name, or set a Belongs that accepts it",
		e.Object, ErrRefused, ErrNotOurs, because)
}

func (e *NotOursError) Unwrap() []error { return []error{ErrNotOurs, ErrRefused} }

// IsOwnershipConflict reports whether an error is an ownership conflict, as opposed to a stale
// write. Both are HTTP 409 with reason Conflict, and apierrors.IsConflict is true for both;
// only an ownership conflict has causes of type FieldManagerConflict. For an error of another
// class that wraps such an answer, as a ContendedError may, it is false.
func IsOwnershipConflict(err error) bool {
	return errors.Is(err, ErrConflict) || !hasClass(err) && len(wire.ConflictCauses(err)) > 0
}

// IsStaleWrite reports whether a write failed because the object is no longer at the
// resourceVersion that it carried. The server answers a uid precondition on an absent object in
// the same way: only a live read tells the two apart. For an error of another class that wraps
// such an answer, as a UIDMismatchError may, it is false: writing again does not heal it.
func IsStaleWrite(err error) bool {
	if hasClass(err) {
		return ResultOf(err) == "StaleWrite"
	}
	return apierrors.IsConflict(err) && len(wire.ConflictCauses(err)) == 0
}

// hasClass reports whether an error is one of this package's typed errors.
func hasClass(err error) bool {
	switch ResultOf(err) {
	case "Error", "Cancelled", "Success":
		return false
	}
	return true
}

// Classify wraps the error of a write into the typed error of its class: StaleWriteError,
// UIDMismatchError, RetryableError or RefusedError. Ownership conflicts, errors already
// classified and the end of the context stay as they are. The context is the one that the write
// was sent with: while that has not ended, a context error is a timeout of the client's own,
// and retryable.
//
// The values of Secrets are hidden: the server's message about one is left out where it may
// quote them.
func Classify(ctx context.Context, object ObjectRef, err error) error {
	switch {
	case ResultOf(err) == "Cancelled" && ctx.Err() == nil:
		return &RetryableError{Object: object, Err: err}
	case ResultOf(err) != "Error":
		return err
	}
	err = withoutValues(object, err)
	switch {
	case IsOwnershipConflict(err):
		return err
	case IsStaleWrite(err):
		return &StaleWriteError{Object: object, Err: err}
	case wire.IsImmutableUID(err):
		return &UIDMismatchError{Object: object, Err: err}
	}
	if after, retryable := wire.RetryAfter(err); retryable {
		return &RetryableError{Object: object, After: after, Err: err}
	}
	return &RefusedError{Object: object, Err: err}
}

// CheckNotFound returns the error of a write, checked by a live read if it is a NotFound. The 404
// of a write does not say that the object is gone: the API server also answers 404 if the kind
// has no such subresource, and if an admission webhook passes on a NotFound of its own. Other
// errors are returned as they are, without a read.
//
//   - If the object does not exist, the error is returned as it is.
//   - If another object has the name, and the reference has a uid, it is a *UIDMismatchError.
//   - If the object exists, it is a *RefusedError that is no NotFound. So it is if the read does
//     not tell, because the API server does not serve the kind in this version any more.
//   - If the read fails otherwise, it is the error of the read, in its class (see Classify).
//
// The reader reads past the cache. The subresource is the one that was written to; "" is the
// object itself.
func CheckNotFound(ctx context.Context, live client.Reader, object ObjectRef, subresource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	found := wire.Named(object.GroupVersionKind, object.NamespacedName)
	readErr := live.Get(ctx, object.NamespacedName, found)
	switch {
	case wire.IsAbsent(readErr, object.Name):
		return err
	case apierrors.IsNotFound(readErr): // of something else than the object
		return &RefusedError{Object: object, Err: errors.New("the API server answered 404 to a write, and to the read of the object: " +
			"it may not serve the kind in this version any more, or the namespace is gone: " + wire.OneLine(readErr))}
	case readErr != nil:
		return Classify(ctx, object, fmt.Errorf("the API server answered 404 to a write; reading whether the object exists: %w", readErr))
	case object.UID != "" && object.UID != found.GetUID():
		return &UIDMismatchError{Object: object, Err: fmt.Errorf("the live object has uid %s", found.GetUID())}
	}
	return &RefusedError{Object: object, Err: notAbsent(subresource, withoutValues(object, err))}
}

// notAbsent does not wrap the answer: whoever asks for a NotFound would take the object for gone.
func notAbsent(subresource string, answer error) error {
	cause := "an admission webhook may have answered NotFound"
	if subresource != "" {
		cause = fmt.Sprintf("its kind may have no subresource %q, which a CustomResourceDefinition declares in spec.versions[].subresources.%[1]s, or %s",
			subresource, cause)
	}
	return errors.New("the API server answered 404, and the object exists: " + cause + ": " + wire.OneLine(answer))
}

// checkNotFound is CheckNotFound for a request of this call to the object or a subresource of it.
func (c *call) checkNotFound(ctx context.Context, subresource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	c.exchange.Calling()
	defer c.exchange.Called(nil)
	return CheckNotFound(ctx, c.config.LiveReader, c.pinnedRef(), subresource, err)
}
