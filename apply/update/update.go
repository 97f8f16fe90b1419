package update

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Do changes metadata and spec of an object. The package comment holds the
// contract of object and mutate.
//
//	retry.RetryOnConflict(retry.DefaultRetry, func() error { get; mutate; update })
//
// becomes
//
//	update.Do(ctx, updater, object, mutate)
func Do[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Do", mutate: mutate, write: u.put})
}

// Status changes the status of an object through its status subresource. The
// package comment holds the contract of object and mutate.
func Status[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Status", mutate: mutate, write: u.putStatus})
}

// verb is what tells the four of them apart.
type verb[T client.Object] struct {
	name     string
	invalid  error // refuses the call before its first attempt
	mutate   func(T) error
	write    func(context.Context, client.Object) error
	verify   func(T) error // looks at the answer; may be nil
	absentOK bool          // an absent object is success
}

func (u *Updater) put(ctx context.Context, object client.Object) error {
	return u.config.Client.Update(ctx, object, client.FieldOwner(u.config.FieldManager))
}

func (u *Updater) putStatus(ctx context.Context, object client.Object) error {
	return u.config.Client.Status().Update(ctx, object, client.FieldOwner(u.config.FieldManager))
}
