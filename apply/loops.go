package apply

import (
	"sync"
	"time"

	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// An object is in an endless loop if one field manager changes the object more than loopLimit
// times within loopWindow: something undoes each change. The loop of one object and field manager
// is reported at most once within loopSilence.
const (
	loopLimit   = 30
	loopWindow  = time.Minute
	loopSilence = time.Hour
)

// countedObjects is the maximum number of pairs of an object and a field manager whose changes
// are counted.
const countedObjects = 2048

// Loops counts, for each object and field manager, the applies that changed the object. All
// appliers of a process share one Loops, because several appliers may use the same field manager.
// An apply that sends no request is not counted. Loops is safe for concurrent use.
type Loops struct {
	now func() time.Time

	mu      sync.Mutex
	objects *recent.Cache[loopKey, *changes]
}

// NewLoops returns a Loops that reads the current time from now. If now is nil, time.Now is used.
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

// changes records the recent changes of one object by one field manager of this process.
type changes struct {
	times    []time.Time // of the changes within loopWindow, at most loopLimit times
	version  string      // resourceVersion in the response to the last change
	reported time.Time   // when a Loop was last reported; zero if never
}

// due reports whether the next change of the object is to be reported as a loop. It also returns
// the resourceVersion in the API server's response to the last change.
func (l *Loops) due(key loopKey) (version string, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, counted := l.objects.Get(key)
	if !counted {
		return "", false
	}
	now := l.now()
	known.forget(now.Add(-loopWindow))
	silent := !known.reported.IsZero() && now.Sub(known.reported) < loopSilence
	return known.version, len(known.times) == loopLimit && !silent
}

// changed counts a change of the object, and records the object's resourceVersion after the
// change.
func (l *Loops) changed(key loopKey, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.of(key)
	now := l.now()
	known.forget(now.Add(-loopWindow))
	if len(known.times) == loopLimit {
		known.times = append(known.times[:0], known.times[1:]...)
	}
	known.times = append(known.times, now)
	known.version = version
}

// judged records whether the change for which due returned true was reported as a loop. If the
// change was no loop, the count starts again at zero. Otherwise the object would be read before
// each further apply.
func (l *Loops) judged(key loopKey, isLoop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.of(key); isLoop {
		known.reported = l.now()
	} else {
		known.times = nil
	}
}

func (l *Loops) of(key loopKey) *changes {
	known, counted := l.objects.Get(key)
	if !counted {
		known = &changes{}
		l.objects.Put(key, known)
	}
	return known
}

// forget drops the recorded changes up to the given time.
func (c *changes) forget(before time.Time) {
	old := 0
	for old < len(c.times) && !c.times[old].After(before) {
		old++
	}
	c.times = append(c.times[:0], c.times[old:]...)
}
