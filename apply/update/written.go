package update

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/recent"
)

// writtenKept is how many objects are remembered at least, and half of how many at most.
const writtenKept = 4096

// unknownVersion is that of a write whose answer has not come.
const unknownVersion = ""

// lastWritten holds, by uid, the resourceVersion at which an updater knew an object last,
// of those that it has written. What a cache shows from before says nothing of whether
// there is anything to write: it may be as it is wanted, and be so no more since our own
// write. Of what is forgotten, as of what was never written, the cache is believed.
type lastWritten struct {
	mu       sync.Mutex // around a look and what is made of it
	versions *recent.Cache[types.UID, string]
}

// shows reports whether an object is as new as our last write to it. If so, that write need
// be remembered no longer.
func (w *lastWritten) shows(object client.Object) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid := object.GetUID()
	version, ok := w.versions.Get(uid)
	if !ok {
		return true
	}
	// That resourceVersions can be compared is KEP-5504. Of others only the same is known; unknownVersion is that of none.
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), version)
	if order < 0 || err != nil && object.GetResourceVersion() != version {
		return false
	}
	w.versions.Remove(uid)
	return true
}

// sending has no cache believed until the answer is known.
func (w *lastWritten) sending(object client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.versions.Put(object.GetUID(), unknownVersion)
}

// knows takes an object as the server has answered it: a write, or a live read that leaves
// nothing to write. Of what was not written there is nothing to remember.
func (w *lastWritten) knows(object client.Object, wrote bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	uid, version := object.GetUID(), object.GetResourceVersion()
	before, ok := w.versions.Get(uid)
	if !ok && !wrote {
		return
	}
	if order, _ := resourceversion.CompareResourceVersion(version, before); order < 0 {
		return // of two answers the later one came first
	}
	w.versions.Put(uid, version)
}
