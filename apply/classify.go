package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply/internal/wire"
)

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
