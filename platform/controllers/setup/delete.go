package setup

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Delete deletes an object by its uid. It also succeeds if the object no longer exists, or if another object now has
// the name. After a 404, a live read checks whether the object exists.
func Delete(ctx context.Context, c client.Client, live client.Reader, object client.Object, options ...client.DeleteOption) error {
	uid := object.GetUID()
	_, err := remove(ctx, c, live, object, append(options, client.Preconditions{UID: &uid})...)
	return err
}

// DeleteAsRead deletes an object if nobody has written to it since it was read, and reports whether that is so.
func DeleteAsRead(ctx context.Context, c client.Client, live client.Reader, object client.Object) (asRead bool, err error) {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return remove(ctx, c, live, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// remove takes the 409 with which a delete answers a uid or a resourceVersion that does not match for no error.
//
// No read waits for the delete. With read-your-writes the client would wait for its resourceVersion, which it never sees
// if the watch ends and the next list shows nothing of the object any more; and it would begin to watch a kind that is
// not cached, which the manager may have no right to. So the cache may have the object for a while yet, and a reconciler
// that deletes it again finds it gone.
func remove(ctx context.Context, c client.Client, live client.Reader, object client.Object, options ...client.DeleteOption) (found bool, err error) {
	kind, _ := c.GroupVersionKindFor(object)
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object), UID: object.GetUID()}
	err = c.Delete(ctx, object, append(options, client.DisableReadYourWritesConsistency)...)
	err = apply.CheckNotFound(ctx, live, ref, "", err)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), errors.Is(err, apply.ErrUIDMismatch):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("deleting %s %s: %w", kind.Kind, object.GetName(), err)
	}
	return true, nil
}
