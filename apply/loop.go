package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// Limits of the detection of endless loops. A field manager is in an endless loop with an object if its applies change
// the object more than loopLimit times within loopWindow: then another writer undoes each change. The same loop is
// reported at most once within loopSilence.
const (
	loopLimit   = 30
	loopWindow  = time.Minute
	loopSilence = time.Hour
)

// countedObjects is the maximum number of pairs of an object and a field manager that a Loops remembers.
const countedObjects = 2048

// Loops detects endless loops: an object that one field manager changes again and again, because another writer undoes
// each change. For this, Loops counts the applies that changed an object, by object and field manager. All Appliers of
// a process share one Loops, because several Appliers may use the same field manager. Loops is safe for concurrent use.
type Loops struct {
	now func() time.Time

	mu      sync.Mutex
	objects *recent.Cache[loopKey, *changes]
}

// NewLoops returns a Loops that takes the current time from the function now. If now is nil, it uses time.Now.
func NewLoops(now func() time.Time) *Loops {
	if now == nil {
		now = time.Now
	}
	return &Loops{now: now, objects: recent.New[loopKey, *changes](countedObjects)}
}

type loopKey struct {
	lanes.Key

	fieldManager string
}

// changes records the times at which one field manager changed one object.
type changes struct {
	times    []time.Time // the changes within loopWindow, at most loopLimit of them
	stamp    time.Time   // the time in the field manager's managed fields entry, in the last response
	stamped  time.Time   // when a response first had this stamp
	reported time.Time   // when the loop was last reported; zero if never
}

// changed counts an apply that may have changed the object, and reports whether a loop must be reported now. The given
// stamp is the time in the field manager's managed fields entry in the response.
//
// The API server sets this time, with a precision of one second, when an apply changes a value. If another writer has
// changed the object since the last apply, but this apply has not, the response has a new resourceVersion and an old
// stamp. So an apply is not counted if its stamp was first seen more than a second ago.
func (l *Loops) changed(key loopKey, stamp time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	known, counted := l.objects.Get(key)
	if !counted {
		known = &changes{}
		l.objects.Put(key, known)
	}
	if !known.stamp.Equal(stamp) {
		known.stamp, known.stamped = stamp, now
	} else if now.Sub(known.stamped) > time.Second {
		return false
	}
	known.times = slices.DeleteFunc(append(known.times, now), func(at time.Time) bool { return now.Sub(at) >= loopWindow })
	if len(known.times) <= loopLimit {
		return false
	}
	known.times = slices.Delete(known.times, 0, 1)
	if !known.reported.IsZero() && now.Sub(known.reported) < loopSilence {
		return false
	}
	known.reported = now
	return true
}

// countChange counts the apply of this call if it changed the object. If Loops reports an endless loop, countChange
// logs and returns a message about the loop. Otherwise it returns "".
func (c *call) countChange(landed *answer, action Action) string {
	if c.config.Loops == nil || c.dryRun || action != Created && action != Configured {
		return ""
	}
	var stamp metav1.Time
	var others []fieldowners.Manager
	for _, conflict := range c.outcome.Conflicts { // also name managers whose entries a forced apply has removed
		others = append(others, conflict.Manager)
	}
	for _, entry := range landed.head().ManagedFields {
		switch {
		case entry.Manager != c.config.FieldManager:
			others = append(others, fieldowners.Manager{Name: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource})
		case entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == c.intent.Subresource && entry.Time != nil:
			stamp = *entry.Time
		}
	}
	if stamp.IsZero() || !c.config.Loops.changed(loopKey{c.ref.Key(), c.config.FieldManager}, stamp.Time) {
		return ""
	}
	loop := loopText(c.config.FieldManager, c.ref, others)
	c.log.Error(errors.New(loop), "found an endless loop of applies")
	return loop
}

// loopText returns the message about an endless loop. others are the other field managers of the object.
func loopText(manager string, object ObjectRef, others []fieldowners.Manager) string {
	named := "No other field manager owns a field of the object"
	if len(others) > 0 {
		named = "The other field managers of the object are " + namesOf(others)
	}
	return fmt.Sprintf("the field manager %q changed %v more than %d times within a minute. Another writer undoes each change, or two "+
		"writers apply different values under this name. %s. kubectl fieldowners watch shows who changes which field", manager, object, loopLimit, named)
}

// namesOf returns the names of the first three different managers, followed by the number of the remaining managers.
func namesOf(managers []fieldowners.Manager) string {
	const most = 3
	var names []string
	for _, manager := range managers {
		if name := manager.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
