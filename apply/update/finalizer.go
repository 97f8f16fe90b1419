package update

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// EnsureFinalizer adds a finalizer to an object. The finalizer must have a name like example.com/name. If the object
// already has the finalizer, nothing is written. If it lacks the finalizer and is being deleted, the error matches
// ErrBeingDeleted. If the object in the API server's response lacks the finalizer, for example because a mutating
// webhook removed it, the error matches ErrFinalizerDropped.
func EnsureFinalizer[T client.Object](ctx context.Context, u *Updater, object T, finalizer string) (Result[T], error) {
	return run(ctx, u, object, verb[T]{
		name:    "EnsureFinalizer",
		invalid: ValidFinalizer(finalizer),
		mutate: func(latest T) error {
			finalizers := latest.GetFinalizers()
			if slices.Contains(finalizers, finalizer) {
				return nil
			}
			if latest.GetDeletionTimestamp() != nil {
				return fmt.Errorf("adding finalizer %s: %w", finalizer, ErrBeingDeleted)
			}
			latest.SetFinalizers(append(finalizers, finalizer))
			return nil
		},
		verify: func(ref apply.ObjectRef, answer T) error {
			if slices.Contains(answer.GetFinalizers(), finalizer) {
				return nil
			}
			return fmt.Errorf("adding finalizer %s to %v: the API server accepted the write, but %w; "+
				"look for a mutating webhook or admission policy for %s that sets metadata.finalizers",
				finalizer, ref, ErrFinalizerDropped, ref.Kind)
		},
	})
}

// RemoveFinalizer removes a finalizer from an object. It succeeds if the object does not exist or lacks the finalizer.
// If the object in the API server's response still has the finalizer, for example because a mutating webhook added it
// again, the error matches ErrFinalizerRemains and names the field managers that own the finalizer. When the last
// finalizer of an object that is being deleted is removed, the API server deletes the object.
//
// RemoveFinalizer sends a PUT and not an apply: an apply that omits the finalizer would not remove it while another
// field manager also owns it.
func RemoveFinalizer[T client.Object](ctx context.Context, u *Updater, object T, finalizer string) (Result[T], error) {
	return run(ctx, u, object, verb[T]{
		name:    "RemoveFinalizer",
		invalid: qualified(finalizer),
		mutate: func(latest T) error {
			latest.SetFinalizers(slices.DeleteFunc(latest.GetFinalizers(), func(f string) bool { return f == finalizer }))
			return nil
		},
		absentOK: true,
		verify: func(ref apply.ObjectRef, answer T) error {
			if !slices.Contains(answer.GetFinalizers(), finalizer) {
				return nil
			}
			ownership, unread := fieldowners.ParseReadable(answer.GetManagedFields())
			path := fieldowners.MustParsePath(fmt.Sprintf(".metadata.finalizers[=%q]", finalizer)) // a qualified name: no panic
			owners := []string{"no recorded manager"}
			for i, m := range ownership.OwnersOf(path) {
				owners = append(owners[:i], m.String())
			}
			err := fmt.Errorf("removing finalizer %s from %v: the API server accepted the write, but %w, owned by %s",
				finalizer, ref, ErrFinalizerRemains, strings.Join(owners, ", "))
			if len(unread) > 0 {
				return errors.Join(err, unread[0])
			}
			return err
		},
	})
}

// ValidFinalizer returns an error for a finalizer name that EnsureFinalizer rejects.
func ValidFinalizer(name string) error {
	if err := qualified(name); err != nil || strings.Contains(name, "/") {
		return err
	}
	return fmt.Errorf("finalizer %q: the name needs a domain, such as example.com/%s", name, name)
}

// qualified returns an error for a finalizer name that the API server rejects.
func qualified(name string) error {
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		return fmt.Errorf("finalizer %q: %s", name, strings.Join(problems, "; "))
	}
	return nil
}
