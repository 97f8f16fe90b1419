package update

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
)

// handOn leaves the object, as the server has just shown it, to the next call that waits for
// the lane, which then need not read it.
func handOn(ctx context.Context, shown *unstructured.Unstructured) {
	gone := shown.GetDeletionTimestamp() != nil && len(shown.GetFinalizers()) == 0
	if !gone {
		lanes.HandOn(ctx, shown)
	}
}

// handed returns the object that the call before handed on, or nil. If another process has
// written to it since, a write is stale.
func (c *call[T]) handed(ctx context.Context) *unstructured.Unstructured {
	shown, _ := lanes.Handed(ctx).(*unstructured.Unstructured)
	if shown == nil || shown.GroupVersionKind() != c.ref.GroupVersionKind || c.ref.UID != "" && c.ref.UID != shown.GetUID() {
		return nil
	}
	return shown
}

// writeUpon writes to the object that the previous call in the lane handed on. Only a write shows
// whether this object is still current. The result ended is false if nothing was written: mutate
// changed nothing or failed, the write was stale, or the object has another uid. In these cases
// the attempt continues with a live read.
func (c *call[T]) writeUpon(ctx context.Context, this attempt, handed *unstructured.Unstructured) (ended, stale bool, err error) {
	object, wanted, _ := c.rejudge(ctx, handed) // nothing is wanted after an error
	if wanted == nil {
		return false, false, nil
	}
	log := c.attempted(this, handed).WithValues("unread", true)
	stale, err = c.send(ctx, log, this, handed, object, wanted)
	if stale || errors.Is(err, apply.ErrUIDMismatch) {
		return false, stale, nil
	}
	if err == nil {
		handOn(ctx, wanted)
	}
	return true, false, err
}
