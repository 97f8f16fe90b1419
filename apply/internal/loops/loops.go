// Package loops counts how often a field manager changes an object.
package loops

import (
	"slices"
	"sync"
	"time"

	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// Limits of the detection of endless loops. A field manager is in an endless loop with an object if its applies change
// the object more than Limit times within the window: then another writer undoes each change. The same loop is reported
// at most once within silence.
const (
	Limit   = 30
	window  = time.Minute
	silence = time.Hour
)

// countedKeys is the maximum number of keys that a Counter remembers.
const countedKeys = 2048

// Counter counts applies that changed an object. It is safe for concurrent use.
type Counter struct {
	now func() time.Time

	mu      sync.Mutex
	objects *recent.Cache[Key, *changes]
}

// New returns a Counter that takes the current time from the function now. If now is nil, it uses time.Now.
func New(now func() time.Time) *Counter {
	if now == nil {
		now = time.Now
	}
	return &Counter{now: now, objects: recent.New[Key, *changes](countedKeys)}
}

// Key identifies what is counted together: the changes of one object by one field manager.
type Key struct {
	lanes.Key

	FieldManager string
}

// changes records the times at which one field manager changed one object.
type changes struct {
	times    []time.Time // the changes within window, at most Limit of them
	stamp    time.Time   // the time in the field manager's managed fields entry, in the last response
	stamped  time.Time   // when a response first had this stamp
	reported time.Time   // when the loop was last reported; zero if never
}

// Changed counts an apply that may have changed the object, and reports whether a loop must be reported now. The given
// stamp is the time in the field manager's managed fields entry in the response.
//
// The API server sets this time, with a precision of one second, when an apply changes a value. If another writer has
// changed the object since the last apply, but this apply has not, the response has a new resourceVersion and an old
// stamp. So an apply is not counted if its stamp was first seen more than a second ago.
func (c *Counter) Changed(key Key, stamp time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	known, counted := c.objects.Get(key)
	if !counted {
		known = &changes{}
		c.objects.Put(key, known)
	}
	if !known.stamp.Equal(stamp) {
		known.stamp, known.stamped = stamp, now
	} else if now.Sub(known.stamped) > time.Second {
		return false
	}
	known.times = slices.DeleteFunc(append(known.times, now), func(at time.Time) bool { return now.Sub(at) >= window })
	if len(known.times) <= Limit {
		return false
	}
	known.times = slices.Delete(known.times, 0, 1)
	if !known.reported.IsZero() && now.Sub(known.reported) < silence {
		return false
	}
	known.reported = now
	return true
}
