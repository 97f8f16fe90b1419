package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/hidden"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// The classes of errors, to compare with errors.Is. Each typed error below wraps the error of its class and, if there
// is one, the API server's response.
var (
	// ErrInvalidIntent means that the Applier rejected the intent as invalid, before it sent any request.
	ErrInvalidIntent = errors.New("invalid intent")
	// ErrConflict means that another manager owns fields of the intent with other values, and that
	// the policy rejects the conflict. The apply changed nothing.
	ErrConflict = errors.New("ownership conflict")
	// ErrContended means that other writers changed the object during each attempt to settle its conflicts or to move
	// its fields, up to a limit of attempts. No field was forced or moved. Try again later.
	ErrContended = errors.New("contended")
	// ErrStaleWrite means that the API server refused a write because the object is no longer at the resourceVersion to
	// which the write was pinned. Read the object again.
	ErrStaleWrite = errors.New("stale write")
	// ErrUIDMismatch means that the object to which a write was pinned by its uid was deleted or recreated. If a new
	// object has the name, nothing was written to the new object.
	ErrUIDMismatch = errors.New("uid mismatch")
	// ErrRetryable means that a write failed because of a transient error of the API server or of the network. The
	// write may nevertheless have succeeded: its response may have been lost or may be unreadable.
	ErrRetryable = errors.New("retryable")
	// ErrRefused means that the API server or the client refused a request, for example because of validation,
	// permissions, an unknown field, the size, or a terminating namespace. An immediate retry does not help.
	ErrRefused = errors.New("refused")
)

// IntentError is the error for an invalid intent. It wraps ErrInvalidIntent and the reason.
type IntentError struct {
	Object ObjectRef // the object of the intent; parts may be empty if they are invalid
	Err    error
}

func (e *IntentError) Error() string {
	if e.Object.Kind == "" {
		return fmt.Sprintf("%v: %s", ErrInvalidIntent, wire.OneLine(e.Err))
	}
	return fmt.Sprintf("%v for %v: %s", ErrInvalidIntent, e.Object, wire.OneLine(e.Err))
}

func (e *IntentError) Unwrap() []error { return []error{ErrInvalidIntent, e.Err} }

// ConflictError is the error of an apply if the policy rejects an ownership conflict. Nothing was written. It wraps
// ErrConflict.
type ConflictError struct {
	Object       ObjectRef
	Subresource  string     // "" for the object itself
	FieldManager string     // the field manager of the rejected apply
	Conflicts    []Conflict // all conflicts in the API server's response, also those that the policy does not reject
	Err          error      // the API server's response
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
		message += fmt.Sprintf("; `kubectl fieldowners migrate %s/%s --from %s --to %[3]s` merges the two owners into one",
			strings.ToLower(e.Object.Kind), e.Object.Name, e.FieldManager)
	case own:
		message += "; set the field either through the object itself or through " + e.Subresource + ", not through both"
	default:
		message += "; a retry would get the same conflict"
	}
	return message
}

func (e *ConflictError) Unwrap() []error { return []error{ErrConflict, e.Err} }

// ContendedError means that other writers changed the object during each attempt to settle its conflicts or to move its
// fields. No field was forced or moved. It wraps ErrContended.
type ContendedError struct {
	Object    ObjectRef
	Attempts  int        // number of writes sent, dry runs included
	Conflicts []Conflict // the conflicts in the last attempt; empty for a move of fields by package ownership
	Err       error      // the API server's last response
}

func (e *ContendedError) Error() string {
	return fmt.Sprintf("%v: %v changed during every attempt (%d writes sent); nothing was forced or moved; try again later",
		ErrContended, e.Object, e.Attempts)
}

func (e *ContendedError) Unwrap() []error { return []error{ErrContended, e.Err} }

// StaleWriteError means that a write was refused because the object changed after it was read. It wraps ErrStaleWrite.
type StaleWriteError struct {
	Object ObjectRef
	Err    error
}

func (e *StaleWriteError) Error() string {
	return fmt.Sprintf("%v: %v changed since it was read: %s", ErrStaleWrite, e.Object, wire.OneLine(e.Err))
}

func (e *StaleWriteError) Unwrap() []error { return []error{ErrStaleWrite, e.Err} }

// UIDMismatchError means that the object to which a write was pinned was deleted or recreated. It wraps ErrUIDMismatch.
type UIDMismatchError struct {
	Object ObjectRef // the object, with the uid to which the write was pinned
	Err    error
}

func (e *UIDMismatchError) Error() string {
	if e.Object.UID == "" {
		return fmt.Sprintf("%v: %v was deleted or recreated; if a new object with this name exists, the new object was not changed",
			ErrUIDMismatch, e.Object)
	}
	return fmt.Sprintf("%v: %v (uid %s) was deleted or recreated; if a new object with this name exists, the new object was not changed",
		ErrUIDMismatch, e.Object, e.Object.UID)
}

func (e *UIDMismatchError) Unwrap() []error { return []error{ErrUIDMismatch, e.Err} }

// RetryableError means that a write failed with a transient error, Err. It wraps ErrRetryable.
type RetryableError struct {
	Object ObjectRef
	After  time.Duration // the Retry-After of the API server; 0 if it sent none
	Err    error
}

func (e *RetryableError) Error() string {
	return fmt.Sprintf("writing %v failed with a transient error: %s", e.Object, wire.OneLine(e.Err))
}

func (e *RetryableError) Unwrap() []error { return []error{ErrRetryable, e.Err} }

// RefusedError means that the API server or the client refused a write: Err says why. It wraps ErrRefused.
type RefusedError struct {
	Object ObjectRef
	Err    error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the request for %v was %v: %s", e.Object, ErrRefused, wire.OneLine(e.Err))
}

func (e *RefusedError) Unwrap() []error { return []error{ErrRefused, e.Err} }

// ErrNotOurs means that an object belongs to somebody else. If the client of an Applier refuses a write to such an
// object, the client's error should match ErrNotOurs. In messages, this text follows a subject, such as the object.
var ErrNotOurs = errors.New("belongs to someone else")

// NotOursError means that an object with the intent's name exists and that Intent.Belongs does not accept the object.
// Nothing was written to the object. It wraps ErrNotOurs and ErrRefused.
type NotOursError struct {
	Object ObjectRef
	Owner  string // kind and name of the object's controlling owner; "" if it has none
	// Managers are the field managers that own fields of the object.
	Managers []fieldowners.Manager
}

func (e *NotOursError) Error() string {
	because := ""
	switch {
	case e.Owner != "":
		because = ", controlled by the " + e.Owner
	case len(e.Managers) > 0:
		because = " according to Intent.Belongs: the object has no controller, and its fields are owned by " + fieldowners.FormatManagers(e.Managers)
	}
	return fmt.Sprintf("the apply of %v was %v: an object with this name already exists and %v%s; delete the object, use another name, or set an Intent.Belongs that accepts the object",
		e.Object, ErrRefused, ErrNotOurs, because)
}

func (e *NotOursError) Unwrap() []error { return []error{ErrNotOurs, ErrRefused} }

// IsOwnershipConflict reports whether an error is an ownership conflict, and not a stale write. The API server responds
// to both with HTTP 409 and reason Conflict, so apierrors.IsConflict is true for both. Only an ownership conflict has
// causes of type FieldManagerConflict. IsOwnershipConflict is false for typed errors of other classes, such as a
// ContendedError, even if the typed error wraps an ownership conflict.
func IsOwnershipConflict(err error) bool {
	return errors.Is(err, ErrConflict) || !hasClass(err) && len(wire.ConflictCauses(err)) > 0
}

// IsStaleWrite reports whether a write failed because the object is no longer at the resourceVersion in the write. If a
// write with a uid fails because the object does not exist, IsStaleWrite is also true: the API server's response is the
// same, and only a live read distinguishes the two cases. IsStaleWrite is false for typed errors of other classes, such
// as a UIDMismatchError, even if the typed error wraps a stale write: a new read and another write would not help.
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

// Classify wraps the error of a write into the typed error of its class: StaleWriteError, UIDMismatchError,
// RetryableError or RefusedError. Ownership conflicts and typed errors of this package are returned unchanged. ctx is
// the context of the write. If err is a context error and ctx has ended, err is returned unchanged. If ctx has not
// ended, err is a timeout inside the client, and becomes a RetryableError.
//
// If the object is a Secret, the parts of the API server's message that may quote values are left out.
func Classify(ctx context.Context, object ObjectRef, err error) error {
	switch {
	case ResultOf(err) == "Cancelled" && ctx.Err() == nil:
		return &RetryableError{Object: object, Err: err}
	case ResultOf(err) != "Error":
		return err
	}
	err = hidden.InError(object.GroupKind(), err)
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

// CheckNotFound determines by a live read whether a write failed with a NotFound because its object does not exist. An
// HTTP 404 for a write does not prove this: the API server also responds with 404 if the kind has no such subresource,
// or if an admission webhook returns a NotFound. Errors other than NotFound are returned unchanged, without a read. The
// result for a NotFound is:
//
//   - the same error, if the object does not exist;
//   - a *UIDMismatchError, if object has a uid and another object has the name;
//   - a *RefusedError that does not match NotFound, if the object exists, or if the read proves nothing because the API
//     server no longer serves the kind in this version;
//   - the classified error of the read (see Classify), if the read fails in another way.
//
// The argument live must read from the API server and not from a cache. The argument subresource is the subresource
// that was written to, or "" for the object itself.
func CheckNotFound(ctx context.Context, live client.Reader, object ObjectRef, subresource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	found := wire.Named(object.GroupVersionKind, object.NamespacedName)
	readErr := live.Get(ctx, object.NamespacedName, found)
	switch {
	case wire.IsAbsent(readErr, object.Name):
		return err
	case apierrors.IsNotFound(readErr): // the 404 concerns the kind or the namespace, not the object
		return &RefusedError{Object: object, Err: errors.New("the API server answered 404 to a write, and to the read of the object: " +
			"the API server may not serve the kind in this version any more, or the namespace is gone: " + wire.OneLine(readErr))}
	case readErr != nil:
		return Classify(ctx, object, fmt.Errorf("the API server answered 404 to a write, and checking whether the object exists failed: %w", readErr))
	case object.UID != "" && object.UID != found.GetUID():
		return &UIDMismatchError{Object: object, Err: fmt.Errorf("the live object has uid %s", found.GetUID())}
	}
	return &RefusedError{Object: object, Err: notAbsent(subresource, hidden.InError(object.GroupKind(), err))}
}

// notAbsent returns the error for a write that failed with a 404 although its object exists. It does not wrap the
// response, because a caller that finds a NotFound would conclude that the object does not exist.
func notAbsent(subresource string, answer error) error {
	cause := "an admission webhook may have answered NotFound"
	if subresource != "" {
		cause = fmt.Sprintf("its kind may lack subresource %q, which a CustomResourceDefinition declares in spec.versions[].subresources.%[1]s, or %s",
			subresource, cause)
	}
	return errors.New("the API server answered the write with 404, although the object exists: " + cause + ": " + wire.OneLine(answer))
}
