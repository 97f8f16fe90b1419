package setup

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete deletes the very object that was decided upon, by its uid. That it is gone, or that what has its name now is
// another one, is success: a delete answers a uid or a resourceVersion that does not match with 409.
//
// No read waits for the delete. With read-your-writes the client would wait for its resourceVersion, which it never sees
// if the watch ends and the next list shows nothing of the object any more; and it would begin to watch a kind that is
// not cached, which the manager may have no right to. So the cache may have the object for a while yet, and a reconciler
// that deletes it again finds it gone.
func Delete(ctx context.Context, c client.Client, object client.Object, options ...client.DeleteOption) error {
	uid := object.GetUID()
	err := c.Delete(ctx, object, append([]client.DeleteOption{client.Preconditions{UID: &uid}, client.DisableReadYourWritesConsistency}, options...)...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
