package apply

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/recent"
)

// ledger records this process's own writes to objects. A cached object that is older than the last recorded write is
// out of date, and proves nothing about the live object. The number of recorded objects is bounded.
type ledger struct {
	mu      sync.Mutex
	clock   uint64 // number of writes so far
	bulk    bool   // a DeleteAllOf was recorded
	records *recent.Cache[writtenKey, written]
}

// writtenKey is the key of a record in a ledger. There are three classes of records:
//   - A record with a manager is for the unforced applies of one field manager to an object or its status. An unforced
//     apply changes no field of another manager.
//   - A record without a manager is for forced applies, and for all other writes to an object.
//   - A record without a name is for DeleteAllOf of a kind, in one namespace or in all namespaces.
type writtenKey struct {
	kind        schema.GroupKind
	name        types.NamespacedName
	manager     string
	subresource string
}

// anyManager returns the key of the same object's record without a manager, see writtenKey.
func (k writtenKey) anyManager() writtenKey { return writtenKey{kind: k.kind, name: k.name} }

type written struct {
	resourceVersion uint64 // the highest resourceVersion in the responses so far; 0 before the first response
	unsure          bool   // a write has an unknown outcome, or left the object at an unknown resourceVersion
	number          uint64 // ledger.clock when the apply was sent, or when another write was recorded
}

// shows reports whether an object that was read at this resourceVersion includes the recorded write. KEP-5504 permits
// comparing resourceVersions by order.
func (w written) shows(resourceVersion string) bool {
	read, err := strconv.ParseUint(resourceVersion, 10, 64)
	return err == nil && !w.unsure && read >= w.resourceVersion
}

// trusts reports whether an object that was read at this resourceVersion includes all recorded writes that may have
// changed fields of the key's field manager.
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
	// A DeleteAllOf may have deleted the object, unless this field manager has applied the object since.
	inNamespace, _ := l.records.Get(writtenKey{kind: key.kind, name: types.NamespacedName{Namespace: key.name.Namespace}})
	inAll, _ := l.records.Get(writtenKey{kind: key.kind})
	return own.number >= max(inNamespace.number, inAll.number)
}

// wrote records a write other than an unforced apply. An empty resourceVersion means that the resourceVersion of the
// object after the write is unknown, for example after a delete.
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

// wroteAll records a DeleteAllOf of a kind. An empty namespace means all namespaces.
func (l *ledger) wroteAll(kind schema.GroupKind, namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	l.bulk = true
	l.add(writtenKey{kind: kind, name: types.NamespacedName{Namespace: namespace}}, "")
}

// sending records that an apply is about to be sent. It returns the record from before the apply, and the number of the
// apply. Until the outcome of the apply is recorded, cached objects are not trusted for the key's field manager.
func (l *ledger) sending(key writtenKey) (before written, number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	before, _ = l.records.Get(key)
	l.records.Put(key, written{before.resourceVersion, true, before.number})
	return before, l.clock
}

// refused records that the API server refused an apply: it restores before, the record from before the apply.
func (l *ledger) refused(key writtenKey, before written) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.Put(key, before)
}

// landed records the response to a successful apply. The response shows the effect of each write that ended before the
// apply was sent, even if the outcome of that write is unknown. The response may not show a write that ended later,
// because the API server may have processed that write after the apply.
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

// Wrote records a write by this process that did not go through an Applier, such as an update or a delete. From then
// on, SteadyState trusts a cached object only if its resourceVersion is at least object.ResourceVersion. If
// object.ResourceVersion is empty, the next apply to the object is sent. Leave it empty after a delete, or if the
// outcome of the write is unknown. For a nil SteadyState, Wrote does nothing.
func (s *SteadyState) Wrote(object ObjectRef) {
	if s == nil {
		return
	}
	s.written.wrote(writtenKey{kind: object.GroupKind(), name: object.NamespacedName}, object.ResourceVersion)
}

// WroteAll records that this process deleted all objects of a kind in a namespace, or in the whole cluster if namespace
// is empty. The next apply to each of these objects is sent.
func (s *SteadyState) WroteAll(kind schema.GroupKind, namespace string) {
	s.written.wroteAll(kind, namespace)
}

// believes reports whether the object that was read includes all recorded writes of this process. If not, the object
// proves nothing about the current state.
func (c *call) believes(object client.Object, subresource string) bool {
	return c.config.Steady.written.trusts(c.writtenKey(subresource), object.GetResourceVersion())
}

// sending records that an apply is about to be sent. Cached reads of the object are not trusted until the result is
// known. The caller must call the returned function with the error of the apply, or with nil after a success.
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
		case forced || form.hasBody(): // the outcome is unknown: the apply may have changed fields of other managers
			s.written.wrote(key, "")
		}
	}
}
