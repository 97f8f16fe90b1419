package apply

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/recent"
)

// ledger records the last write of this process to each object, for a bounded number of objects. A
// cached object from before that write proves nothing about the object after it.
type ledger struct {
	mu      sync.Mutex
	clock   uint64 // counts the writes
	bulk    bool   // a DeleteAllOf was recorded
	records *recent.Cache[writtenKey, written]
}

// writtenKey identifies a record of a ledger: an object and a class of writes. The applies of one
// field manager to an object, or to its status, have their own record, because an unforced apply
// changes no field of another manager. The record without a manager is for forced applies and for
// all other writes. The record without a name is for DeleteAllOf.
type writtenKey struct {
	kind        schema.GroupKind
	name        types.NamespacedName
	manager     string
	subresource string
}

// anyManager returns the key of the object's record for forced applies and for all other writes.
func (k writtenKey) anyManager() writtenKey { return writtenKey{kind: k.kind, name: k.name} }

type written struct {
	resourceVersion uint64 // the resourceVersion in the last response; 0 before the first response
	unsure          bool   // the outcome of a write, or the resourceVersion after it, is unknown
	number          uint64 // ledger.clock at the write; for an apply, at the time of sending
}

// shows reports whether an object with this resourceVersion includes the recorded write. KEP-5504
// allows the comparison of resourceVersions.
func (w written) shows(resourceVersion string) bool {
	read, err := strconv.ParseUint(resourceVersion, 10, 64)
	return err == nil && !w.unsure && read >= w.resourceVersion
}

// trusts reports whether an object with this resourceVersion includes all recorded writes to it.
func (l *ledger) trusts(key writtenKey, resourceVersion string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own, ok := l.records.Get(key)
	if ok && !own.shows(resourceVersion) {
		return false
	}
	if others, ok := l.records.Get(key.anyManager()); ok && !others.shows(resourceVersion) {
		return false
	}
	if !l.bulk {
		return true
	}
	// The object may be one of those that DeleteAllOf deleted, unless it was applied since.
	inNamespace, _ := l.records.Get(writtenKey{kind: key.kind, name: types.NamespacedName{Namespace: key.name.Namespace}})
	inAll, _ := l.records.Get(writtenKey{kind: key.kind})
	return own.number >= max(inNamespace.number, inAll.number)
}

// wrote records a write that is not an unforced apply. An empty resourceVersion means that the
// object's resourceVersion after the write is unknown, as after a delete.
func (l *ledger) wrote(key writtenKey, resourceVersion string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	l.add(key.anyManager(), resourceVersion)
}

func (l *ledger) add(key writtenKey, resourceVersion string) {
	before, _ := l.records.Get(key)
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	l.records.Put(key, written{max(version, before.resourceVersion), before.unsure || err != nil, l.clock})
}

// wroteAll records a DeleteAllOf.
func (l *ledger) wroteAll(kind schema.GroupKind, namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	l.bulk = true
	l.add(writtenKey{kind: kind, name: types.NamespacedName{Namespace: namespace}}, "")
}

// sending records that an apply is about to be sent, and returns the record before and the number
// of the apply. Until landed or refused is called, trusts returns false for this field manager.
func (l *ledger) sending(key writtenKey) (before written, number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	before, _ = l.records.Get(key)
	l.records.Put(key, written{before.resourceVersion, true, before.number})
	return before, l.clock
}

// refused records that the API server refused an apply: it restores the record before the apply.
func (l *ledger) refused(key writtenKey, before written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.Put(key, before)
}

// landed records the response to a successful apply. The response shows all writes that ended
// before the apply was sent, including writes of unknown outcome. It may not show a write that
// ended later, because the API server may have processed that write after the apply.
func (l *ledger) landed(key writtenKey, before written, number uint64, resourceVersion string, forced bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	l.records.Put(key, written{max(version, before.resourceVersion), err != nil, number})
	others, ok := l.records.Get(key.anyManager())
	if ok && others.unsure && others.number < number && err == nil {
		l.records.Put(key.anyManager(), written{max(version, others.resourceVersion), false, others.number})
	}
	if forced {
		l.add(key.anyManager(), resourceVersion)
	}
}

func (c *call) writtenKey(subresource string) writtenKey {
	return writtenKey{c.ref.GroupKind(), c.ref.NamespacedName, c.config.FieldManager, subresource}
}

// Wrote records a write of this process that no Applier made, such as an update or a delete. From
// then on, a cached object proves a no-op only if it is at least as new as object.ResourceVersion.
// If the resourceVersion is empty, because the object was deleted or the outcome of the write is
// unknown, the next apply to the object is sent. For a nil SteadyState, Wrote does nothing.
func (s *SteadyState) Wrote(object ObjectRef) {
	if s == nil {
		return
	}
	s.written.wrote(writtenKey{kind: object.GroupKind(), name: object.NamespacedName}, object.ResourceVersion)
}

// WroteAll records a delete of all objects of a kind in a namespace, or in the whole cluster if
// namespace is empty. The next apply to each of these objects is sent.
func (s *SteadyState) WroteAll(kind schema.GroupKind, namespace string) {
	s.written.wroteAll(kind, namespace)
}

// believes reports whether the object as read includes all recorded writes of this process. If it
// does not, the read proves nothing about the current object.
func (c *call) believes(object client.Object, subresource string) bool {
	return c.config.Steady.written.trusts(c.writtenKey(subresource), object.GetResourceVersion())
}

// sending records that an apply is about to be sent: cached reads of the object are not trusted
// until the result is known. The caller then calls known with the error of the apply, or with nil.
func (c *call) sending(form *encodedIntent, forced bool) (known func(err error)) {
	s := c.config.Steady
	if s == nil || c.dryRun {
		return func(error) {}
	}
	key := c.writtenKey(form.Subresource)
	before, number := s.written.sending(key)
	return func(err error) {
		switch result := ResultOf(err); {
		case err == nil:
			s.written.landed(key, before, number, c.ref.ResourceVersion, forced || form.hasBody())
		case result != "Retryable" && result != "Cancelled":
			s.written.refused(key, before)
		case forced || form.hasBody(): // the apply may have changed fields of other managers
			s.written.wrote(key, "")
		}
	}
}
