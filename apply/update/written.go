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

// writtenKept is the least number of objects that are remembered; the most is twice as many.
const writtenKept = 4096

// unknownVersion is the version of a write whose answer is not known.
const unknownVersion = ""

// lastWritten holds, by uid, the resourceVersion at which an updater last knew an object that
// it has written. An older object in a cache does not show whether there is anything to write:
// our own write may have changed it since. For objects that are forgotten or were never
// written, the cache is trusted.
type lastWritten struct {
	mu       sync.Mutex // around a look and what is made of it
	versions *recent.Cache[types.UID, string]
}

// shows reports whether an object is as new as our last write to it. If it is, the write is
// forgotten.
func (w *lastWritten) shows(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := object.GetUID()
	version, ok := w.versions.Get(uid)
	if !ok {
		return true
	}
	// That resourceVersions can be compared is KEP-5504. Others, and unknownVersion, are only compared for equality.
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	if order < 0 || err != nil && object.GetResourceVersion() != version {
		return false
	}
	w.versions.Remove(uid)
	return true
}

// sending makes shows false until the answer is known.
func (w *lastWritten) sending(object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions.Put(object.GetUID(), unknownVersion)
}

// knows records an object as in the server's answer to a write, or to a live read that leaves
// nothing to write. An object that was never written is not remembered.
func (w *lastWritten) knows(object client.Object, wrote bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid, version := object.GetUID(), object.GetResourceVersion()
	before, ok := w.versions.Get(uid)
	if !ok && !wrote {
		return
	}
	if order, _ := resourceversion.CompareResourceVersion(version, before); order < 0 {
		return // a later answer came first
	}
	w.versions.Put(uid, version)
}

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
