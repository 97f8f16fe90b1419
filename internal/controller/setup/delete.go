package setup

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Delete deletes an object by its uid. It succeeds if the object is gone, or if another one has
// its name now, which the server answers with 409.
//
// No read waits for the delete. With read-your-writes the client would wait for its
// resourceVersion, which it never sees if the watch ends and the object is not in the next
// list; and it would begin to watch a kind that is not cached, for which the manager may have
// no right. So the cache may have the object for a while, and a reconciler may delete it again.
func Delete(ctx context.Context, c client.Client, object client.Object, options ...client.DeleteOption) error {
	uid := object.GetUID()
	err := c.Delete(ctx, object, append([]client.DeleteOption{client.Preconditions{UID: &uid}, client.DisableReadYourWritesConsistency}, options...)...)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
