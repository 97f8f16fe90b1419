package ledger

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// Attempt is an apply that is being sent. Ledger.Shows returns false for the object and the Writer until Refused,
// Landed or Ledger.Read is called. If no method is called, the outcome counts as unknown. A nil Attempt is for dry
// runs, and records nothing.
type Attempt struct {
	ledger *Ledger
	object lanes.Key
	who    Writer
	before writes // the applies of the Writer before this apply
	number uint64 // Ledger.clock at this apply
}

// Sending records that an apply is about to be sent.
func (l *Ledger) Sending(object lanes.Key, who Writer) *Attempt {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	own := l.writer(object, who)
	before := own.applies
	own.applies.unsure = true
	return &Attempt{l, object, who, before, l.clock}
}

// writer returns the record of a Writer's applies, and creates one if there is none.
func (l *Ledger) writer(object lanes.Key, who Writer) *writer {
	r := l.of(object)
	if own := r.by(who); own != nil {
		return own
	}
	r.writers = append(r.writers, writer{Writer: who})
	return &r.writers[len(r.writers)-1]
}

// Refused records that the API server refused the apply, so that it changed nothing.
func (a *Attempt) Refused() {
	if a == nil {
		return
	}
	a.ledger.mu.Lock()
	defer a.ledger.mu.Unlock()
	a.ledger.writer(a.object, a.who).applies = a.before
}

// Unknown records that the outcome of the apply is not known. wide means that the apply may have changed fields of
// other managers: the apply was forced, or sent to a subresource with another kind than the object's, such as scale.
func (a *Attempt) Unknown(wide bool) {
	if a == nil {
		return
	}
	if wide {
		a.ledger.Wrote(a.object, "")
	}
}

// Landed records the response to a successful apply. wide is as in Unknown. ours means that the object belongs to the
// caller (see Made). The response includes each write that ended before the apply was sent, even if the outcome of the
// write is unknown. A write that ended later may be missing: the API server may have processed it after the apply.
//
// unchanged reports whether the field manager's previous response had the same resourceVersion. If the field manager
// sends its applies to the object one by one, the apply changed nothing. (Otherwise that response may show this apply.)
func (a *Attempt) Landed(response wire.Identity, wide, ours bool) (unchanged bool) {
	if a == nil {
		return false
	}
	l := a.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.writer(a.object, a.who)
	r := l.of(a.object)
	unchanged = response.ResourceVersion != "" && slices.ContainsFunc(r.writers, func(w writer) bool {
		return w.FieldManager == a.who.FieldManager && w.last == response
	})
	version, err := strconv.ParseUint(response.ResourceVersion, 10, 64)
	own.applies = writes{max(version, a.before.version), err != nil, a.number}
	if own.last.UID != response.UID {
		own.made = time.Time{}
	}
	own.last = response
	if ours {
		own.made = time.Now()
	}
	seen := func(w writes) writes { // returns w; writes that ended before the apply was sent are no longer unsure
		if w.unsure && w.number < a.number && err == nil {
			w = writes{max(version, w.version), false, w.number}
		}
		return w
	}
	r.others = seen(r.others)
	if wide {
		r.others = r.others.and(response.ResourceVersion, l.clock)
	}
	kind := a.object.GroupKind
	l.evicted[kind] = seen(l.evicted[kind])
	for _, namespace := range []string{"", a.object.Namespace} {
		if all, ok := l.bulk[collection{kind, namespace}]; ok {
			l.bulk[collection{kind, namespace}] = seen(all)
		}
	}
	return unchanged
}

// Read records a live read that began after all writes of the Writer had ended, so that it shows all their changes.
func (l *Ledger) Read(object lanes.Key, who Writer, resourceVersion string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	version, err := strconv.ParseUint(resourceVersion, 10, 64)
	if r, ok := l.records.Get(object); ok && err == nil {
		if own := r.by(who); own != nil && own.applies.unsure {
			own.applies.version, own.applies.unsure = max(own.applies.version, version), false
		}
	}
}

// madeFor is how long a cache may lack an object that was just created. An object that is missing for longer counts as
// deleted.
const madeFor = 10 * time.Second

// Made returns the uid of an object that belongs to the caller, and to which the Writer applied less than madeFor ago.
func (l *Ledger) Made(object lanes.Key, who Writer) (uid types.UID, ok bool) {
	own := l.known(object, who)
	if time.Since(own.made) < madeFor {
		return own.last.UID, true
	}
	return "", false
}

// Reported returns what the last Report of the Writer recorded for an object.
func (l *Ledger) Reported(object lanes.Key, who Writer) []uint64 {
	return l.known(object, who).reported
}

// known returns a copy of what is known of the applies of a Writer.
func (l *Ledger) known(object lanes.Key, who Writer) (own writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r, ok := l.records.Get(object); ok {
		if found := r.by(who); found != nil {
			own = *found
		}
	}
	return own
}

// Report records hashes of the conflicts that the Writer's last apply relinquished or shared.
func (l *Ledger) Report(object lanes.Key, who Writer, conflicts []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writer(object, who).reported = conflicts
}
