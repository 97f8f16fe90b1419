// Package ledger records what a process knows of objects from its own writes. There is one bounded record for each
// object. It answers four questions:
//
//   - Does an object that was read from a cache include the process's own writes (Shows)?
//   - Did an apply change the object (Attempt.Landed)?
//   - Which uid has an object that was just created, and that the cache may not have yet (Made)?
//   - Which conflicts did the last apply already report (Reported)?
//
// resourceVersions are compared by order, which KEP-5504 permits.
package ledger

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// Writer is one source of applies to an object: a field manager, and the subresource through which it applies. An
// empty Subresource stands for the object itself.
type Writer struct {
	FieldManager, Subresource string
}

// Ledger contains the records of one process. It is safe for concurrent use.
type Ledger struct {
	mu      sync.Mutex
	clock   uint64 // number of writes so far
	records *recent.Cache[lanes.Key, *record]
	evicted map[schema.GroupKind]writes // the writes in records that were evicted
	bulk    map[collection]writes       // the last DeleteAllOf of each collection
}

// collection is all objects of a kind in one namespace, or in all namespaces if namespace is empty.
type collection struct {
	schema.GroupKind

	namespace string
}

// record is what is known of one object.
type record struct {
	others  writes // forced applies, and all writes that are not applies
	writers []writer
	shown   uint64 // the highest resourceVersion of a read that was trusted: the cache shows no older version any more
}

// writer is what is known of the applies of one Writer to an object.
type writer struct {
	Writer

	applies  writes        // unforced applies: they change no field of another manager
	last     wire.Identity // the version of the object in the last response
	made     time.Time     // when an apply landed on an object that belongs to the caller; zero if none did
	reported []uint64      // hashes of the conflicts that the last apply relinquished or shared
}

// writes summarises several writes, so that shown can decide whether a read includes all of them.
type writes struct {
	version uint64 // the highest resourceVersion in the responses so far; 0 before the first response
	unsure  bool   // a write has an unknown outcome, or left the object at an unknown resourceVersion
	number  uint64 // Ledger.clock at the last write
}

// shown reports whether an object that was read at this resourceVersion includes the writes. The version 0 means that the
// resourceVersion of the read is not known.
func (w writes) shown(version uint64) bool {
	return w == writes{} || version > 0 && !w.unsure && version >= w.version
}

// and returns the writes together with one more write. An empty resourceVersion means that the resourceVersion of the
// object after the write is unknown.
func (w writes) and(resourceVersion string, number uint64) writes {
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	return writes{max(version, w.version), w.unsure || err != nil, number}
}

// New returns a Ledger that keeps the records of at least limit objects, and of at most twice as many.
func New(limit int) *Ledger {
	l := &Ledger{records: recent.New[lanes.Key, *record](limit), evicted: map[schema.GroupKind]writes{}, bulk: map[collection]writes{}}
	l.records.Evicted = l.evict
	return l
}

// evict adds the writes in an evicted record that the cache has not shown yet to the evicted writes of the kind. If the
// Ledger contains no apply of a Writer to an object, Shows returns true only for a read that includes all these writes.
func (l *Ledger) evict(object lanes.Key, r *record) {
	kept := l.evicted[object.GroupKind]
	add := func(w writes) {
		if !w.shown(r.shown) {
			kept = writes{max(kept.version, w.version), kept.unsure || w.unsure, l.clock}
		}
	}
	add(r.others)
	for _, w := range r.writers {
		add(w.applies)
	}
	if kept != (writes{}) {
		l.evicted[object.GroupKind] = kept
	}
}

// of returns the record of an object, and creates one if there is none.
func (l *Ledger) of(object lanes.Key) *record {
	r, ok := l.records.Get(object)
	if !ok {
		r = &record{}
		l.records.Put(object, r)
	}
	return r
}

// by returns what is known of the applies of a Writer, or nil.
func (r *record) by(who Writer) *writer {
	at := slices.IndexFunc(r.writers, func(w writer) bool { return w.Writer == who })
	if at < 0 {
		return nil
	}
	return &r.writers[at]
}

// Shows reports whether an object that was read at this resourceVersion includes all writes of the process that may
// have changed fields of the Writer.
func (l *Ledger) Shows(object lanes.Key, who Writer, resourceVersion string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	read, _ := strconv.ParseUint(resourceVersion, 10, 64)
	r, known := l.records.Get(object)
	if !known {
		r = &record{}
	}
	own := writes{}
	if w := r.by(who); w != nil {
		own = w.applies
	}
	for _, namespace := range []string{"", object.Namespace} {
		if all := l.bulk[collection{object.GroupKind, namespace}]; own.number < all.number && !all.shown(read) {
			return false
		}
	}
	if own == (writes{}) { // the record of the Writer's applies may have been evicted
		own = l.evicted[object.GroupKind]
	}
	if !own.shown(read) || !r.others.shown(read) {
		return false
	}
	r.shown = max(r.shown, read)
	return true
}

// Wrote records a write that is not an apply. An empty resourceVersion means that the resourceVersion of the object
// after the write is unknown, for example after a delete, or that the outcome of the write is unknown.
func (l *Ledger) Wrote(object lanes.Key, resourceVersion string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	r := l.of(object)
	r.others = r.others.and(resourceVersion, l.clock)
}

// WroteAll records a DeleteAllOf of a kind, in all namespaces if namespace is empty. Shows then returns true only if
// the Writer has applied to the object since, or if the read is not older than a later apply to an object of the kind
// in the namespace.
func (l *Ledger) WroteAll(kind schema.GroupKind, namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	l.bulk[collection{kind, namespace}] = writes{unsure: true, number: l.clock}
}
