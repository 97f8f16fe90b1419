package update

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
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
	return run(ctx, u, object, verb[T]{name: "Do", mutate: mutate})
}

// Status changes the status of an object through its status subresource. The
// package comment holds the contract of object and mutate.
func Status[T client.Object](ctx context.Context, u *Updater, object T, mutate func(T) error) (Result[T], error) {
	return run(ctx, u, object, verb[T]{name: "Status", mutate: mutate, status: true})
}

// verb is what tells the four of them apart.
type verb[T client.Object] struct {
	name     string
	invalid  error // refuses the call before its first attempt
	mutate   func(T) error
	status   bool                           // it writes through the status subresource
	verify   func(apply.ObjectRef, T) error // looks at the answer; may be nil
	absentOK bool                           // an absent object is success
}

// put writes what is on the wire. A client with read-your-writes would begin to watch the
// kind as unstructured objects for it; where the caller's reads are typed it is told not
// to.
func (u *Updater) put(ctx context.Context, object *unstructured.Unstructured, typed bool) error {
	options := []client.UpdateOption{client.FieldOwner(u.config.FieldManager)}
	if typed {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	return u.checkNotFound(ctx, object, "", u.config.Client.Update(ctx, object, options...))
}

func (u *Updater) putStatus(ctx context.Context, object *unstructured.Unstructured, typed bool) error {
	options := []client.SubResourceUpdateOption{client.FieldOwner(u.config.FieldManager)}
	if typed {
		options = append(options, client.DisableReadYourWritesConsistency)
	}
	return u.checkNotFound(ctx, object, "status", u.config.Client.Status().Update(ctx, object, options...))
}

func (u *Updater) checkNotFound(ctx context.Context, object *unstructured.Unstructured, subresource string, err error) error {
	written := apply.ObjectRef{
		GroupVersionKind: object.GroupVersionKind(), NamespacedName: client.ObjectKeyFromObject(object), UID: object.GetUID(),
	}
	return apply.CheckNotFound(ctx, u.config.LiveReader, written, subresource, err)
}
