package update

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Do changes the metadata and the spec of an object by get-modify-update. The package comment has the rules for object
// and mutate. Instead of
//
//	retry.RetryOnConflict(retry.DefaultRetry, func() error { get; mutate; update })
//
// write
//
//	update.Do(ctx, updater, object, mutate)
func Do[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Do", mutate: mutate})
}

// Status changes the status of an object by get-modify-update, through the status subresource. The package comment has
// the rules for object and mutate.
func Status[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Status", mutate: mutate, status: true})
}

// verb defines one of the functions Do, Status, EnsureFinalizer and RemoveFinalizer.
type verb[T client.Object] struct {
	name     string
	invalid  error // the error with which the call fails before its first attempt, or nil
	mutate   func(T) error
	status   bool                           // write through the status subresource
	verify   func(apply.ObjectRef, T) error // checks the object in the response to the write; may be nil
	absentOK bool                           // the call succeeds if the object does not exist
}
