package update

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/ledger"
	"coapply.dev/apply/lanes"
)

// rememberedObjects is the minimum number of objects of which an Updater remembers its own writes. A cached object that is
// older than the last write may lack the Updater's own changes, so it does not show whether a write is necessary.
const rememberedObjects = 4096

// own is the Writer of all writes of an Updater in its ledger.
var own = ledger.Writer{}

// handOn passes an object from a response to the next call, if it already waits for the object's lane (Config.Lanes). That
// call then need not read the object. If the object no longer exists, handOn does nothing.
func handOn(ctx context.Context, shown *unstructured.Unstructured) {
	gone := shown.GetDeletionTimestamp() != nil && len(shown.GetFinalizers()) == 0
	if !gone {
		lanes.HandOn(ctx, shown)
	}
}

// handed returns the object that the previous call in the lane has passed with handOn, or nil. If another process has
// changed the object since, a write that is based on the passed object will be stale.
func (c *call[T]) handed(ctx context.Context) *unstructured.Unstructured {
	shown, _ := lanes.Handed(ctx).(*unstructured.Unstructured)
	if shown == nil || shown.GroupVersionKind() != c.ref.GroupVersionKind || c.ref.UID != "" && c.ref.UID != shown.GetUID() {
		return nil
	}
	return shown
}

// writeUpon tries to write without a read, based on the object that the previous call in the lane has passed. ended is
// false if the attempt must continue with a live read. This is the case if the write was stale or the live object has
// another uid. It is also the case if mutate changed nothing or failed, because only a write shows whether the passed
// object is current.
func (c *call[T]) writeUpon(ctx context.Context, this attempt, handed *unstructured.Unstructured) (ended, stale bool, err error) {
	object, wanted, _ := c.rejudge(ctx, handed) // wanted is nil after an error
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
