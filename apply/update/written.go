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

// writtenKept is the minimum number of objects in lastWritten. The maximum is twice this number.
const writtenKept = 4096

// unknownVersion is the resourceVersion after a write whose response is not known yet, or was lost.
const unknownVersion = ""

// lastWritten holds, by uid, the last known resourceVersion of each object that an updater has
// written. A cached object with an older resourceVersion may lack the updater's own changes, so it
// does not show whether a write is needed. A cached object that is not in lastWritten is trusted.
type lastWritten struct {
	mu       sync.Mutex // held while a method reads versions and then changes it
	versions *recent.Cache[types.UID, string]
}

// shows reports whether an object, as read, is at least as new as the updater's last write to the object.
// If so, shows removes the object from lastWritten.
func (w *lastWritten) shows(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := object.GetUID()
	version, ok := w.versions.Get(uid)
	if !ok {
		return true
	}
	// By KEP-5504, clients may order resourceVersions. If these have no order, only equality counts.
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	if order < 0 || err != nil && object.GetResourceVersion() != version {
		return false
	}
	w.versions.Remove(uid)
	return true
}

// sending records that a write of the object begins. shows then returns false for the object until knows
// records the response to the write.
func (w *lastWritten) sending(object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions.Put(object.GetUID(), unknownVersion)
}

// knows records the resourceVersion of an object from the API server's response to a write (wrote), or to
// a read after which nothing was written. A read of an object that is not in lastWritten is ignored.
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

// handOn passes an object from an API server's response to the next call that waits for the object's lane
// (Config.Lanes), so that this call need not read the object. It does nothing if the object was deleted.
func handOn(ctx context.Context, shown *unstructured.Unstructured) {
	gone := shown.GetDeletionTimestamp() != nil && len(shown.GetFinalizers()) == 0
	if !gone {
		lanes.HandOn(ctx, shown)
	}
}

// handed returns the object that the previous call in the lane passed on by handOn, or nil. If another
// process has written to the object since, a write based on this object is stale.
func (c *call[T]) handed(ctx context.Context) *unstructured.Unstructured {
	shown, _ := lanes.Handed(ctx).(*unstructured.Unstructured)
	if shown == nil || shown.GroupVersionKind() != c.ref.GroupVersionKind || c.ref.UID != "" && c.ref.UID != shown.GetUID() {
		return nil
	}
	return shown
}

// writeUpon makes an attempt with the object that the previous call in the lane passed on, without a
// read. Only a write shows whether this object is still current. The result ended is false if nothing was
// written: mutate changed nothing or failed, the write was stale, or the live object has another uid. In
// these cases the attempt continues with a live read.
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
