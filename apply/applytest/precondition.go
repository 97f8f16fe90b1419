package applytest

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// StaleWrite is the 409 of a write whose resourceVersion is old, and of a deletion with such a
// precondition: apply.ErrStaleWrite. An Applier settles again if it had pinned the apply to a
// resourceVersion, and returns apply.ErrRetryable if it had pinned nothing.
func StaleWrite() Answer {
	return fromServer("StaleWrite", pinnable, func(made call) *apierrors.StatusError {
		if made.Verb == VerbDelete {
			return deletionConflict(made, "the ResourceVersion in the precondition does not match the ResourceVersion in record. "+
				"The object might have been modified")
		}
		return apierrors.NewConflict(made.resource, made.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	})
}

// UIDGone is the 409 of an apply with a uid if there is no object any more:
// apply.ErrUIDMismatch, or for MustExist the outcome Absent. It looks like a stale write until
// a live read, so the wrapped client must not have the object. Only an apply with a uid gets
// this answer.
func UIDGone() Answer {
	a := fromServer("UIDGone", []Verb{VerbApply}, func(made call) *apierrors.StatusError {
		return apierrors.NewConflict(made.resource, made.Name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", made.uid))
	})
	a.unfit = withoutUID
	return a
}

// UIDChanged is the answer to a write with the uid of an earlier object of the same name: for
// an apply or a patch a 422, which is apply.ErrUIDMismatch, for an update or a deletion a 409
// that looks like a stale write. An apply, an update or a deletion has to carry a uid; the
// content of a patch is not checked.
func UIDChanged() Answer {
	a := fromServer("UIDChanged", pinnable, func(made call) *apierrors.StatusError {
		switch made.Verb {
		case VerbDelete:
			return deletionConflict(made, "the UID in the precondition does not match the UID in record. "+
				"The object might have been deleted and then recreated")
		case VerbUpdate:
			return apierrors.NewConflict(made.resource, made.Name,
				fmt.Errorf("StorageError: invalid object, Code: 4, AdditionalErrorMsg: Precondition failed: UID in precondition: %s", made.uid))
		}
		return invalid(made, "metadata.uid", fmt.Sprintf("Invalid value: %q: field is immutable", made.uid))
	})
	a.unfit = withoutUID
	return a
}

// withoutUID returns an error for a call without a uid.
func withoutUID(made call) error {
	if made.uid != "" || made.Verb == VerbPatch || made.Verb == VerbApply && made.body == nil {
		return nil
	}
	switch made.Verb {
	case VerbApply:
		return errors.New("it carries no uid; an Applier sends one for an Intent with a UID and where it forces (Call.Forced)")
	case VerbDelete:
		return errors.New("it carries no uid; a deletion carries one as client.Preconditions")
	}
	return errors.New("it carries no uid")
}

// deletionConflict returns the 409 of a deletion, which names the kind where others name the
// resource.
func deletionConflict(made call, message string) *apierrors.StatusError {
	return apierrors.NewConflict(schema.GroupResource{Group: made.kind.Group, Resource: made.kind.Kind}, made.Name, errors.New(message))
}

// AlreadyExists is the 409 of a creation whose name is taken: apply.ErrRetryable, for an apply
// that lost a race to create.
func AlreadyExists() Answer {
	return fromServer("AlreadyExists", creating, func(made call) *apierrors.StatusError {
		return apierrors.NewAlreadyExists(made.resource, made.Name)
	})
}
