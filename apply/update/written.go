package update

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// writtenKept is the minimum number of objects that a lastWritten remembers. The maximum is twice this number.
const writtenKept = 4096

// unknownVersion stands for the resourceVersion after a write whose response has not arrived yet, or was lost.
const unknownVersion = ""

// lastWritten remembers, by uid, the last known resourceVersion of each object that an Updater has written. A cached
// object with an older resourceVersion may lack the Updater's own changes, so it does not show whether a write is
// necessary. A cached object that is not in lastWritten is trusted.
type lastWritten struct {
	mu       sync.Mutex // locked while a method reads versions and then changes them
	versions *recent.Cache[types.UID, string]
}

// shows reports whether an object that was read is at least as new as the Updater's last write to it. If so, shows
// forgets the object.
func (w *lastWritten) shows(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := object.GetUID()
	version, ok := w.versions.Get(uid)
	if !ok {
		return true
	}
	// KEP-5504 permits clients to compare resourceVersions by order. If two cannot be compared, they must be equal.
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	if order < 0 || err != nil && object.GetResourceVersion() != version {
		return false
	}
	w.versions.Remove(uid)
	return true
}

// sending records that a write of the object is about to be sent. A cached object is not trusted until a call of knows
// records the response.
func (w *lastWritten) sending(object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions.Put(object.GetUID(), unknownVersion)
}

// knows records the resourceVersion of an object in a response of the API server. wrote reports whether the response is
// to a write. A response to a read is ignored if lastWritten does not remember the object.
func (w *lastWritten) knows(object client.Object, wrote bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid, version := object.GetUID(), object.GetResourceVersion()
	before, ok := w.versions.Get(uid)
	if !ok && !wrote {
		return
	}
	if order, _ := resourceversion.CompareResourceVersion(version, before); order < 0 {
		return // a newer resourceVersion is already recorded
	}
	w.versions.Put(uid, version)
}

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
