package update

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/lanes"
)

// handOn leaves the object, as the server has just shown it, to the next call that waits
// for the lane: it need not read it.
func handOn(ctx context.Context, shown *unstructured.Unstructured) {
	gone := shown.GetDeletionTimestamp() != nil && len(shown.GetFinalizers()) == 0
	if !gone {
		lanes.HandOn(ctx, shown)
	}
}

// handed returns the object as the call before left it, or nil. Another process may have
// written to it since, which a write finds out by its resourceVersion.
func (c *call[T]) handed(ctx context.Context) *unstructured.Unstructured {
	shown, _ := lanes.Handed(ctx).(*unstructured.Unstructured)
	if shown == nil || shown.GroupVersionKind() != c.ref.GroupVersionKind || c.ref.UID != "" && c.ref.UID != shown.GetUID() {
		return nil
	}
	return shown
}

// writeUpon writes to the object as the call before left it. Only a write shows whether it
// is still so: where there is nothing to write, where mutate fails, and where the write
// comes too late, a live read decides.
func (c *call[T]) writeUpon(ctx context.Context, this attempt, handed *unstructured.Unstructured) (written bool, err error) {
	object, wanted, _ := c.rejudge(handed) // nothing is wanted after an error
	if wanted == nil {
		return false, nil
	}
	log := c.attempted(this, handed).WithValues("unread", true)
	err = c.send(ctx, log, this, handed, object, wanted)
	if c.stale || apierrors.IsNotFound(err) {
		return false, nil
	}
	if err == nil {
		handOn(ctx, wanted)
	}
	return true, err
}
