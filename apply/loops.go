package apply

import (
	"sync"
	"time"

	"coapply.dev/apply/lanes"
	"coapply.dev/internal/recent"
)

// An object that one field manager changes more than loopLimit times within loopWindow is in an
// endless loop: something undoes each change. The loop is reported, and not again for the same
// object and field manager within loopSilence.
const (
	loopLimit   = 30
	loopWindow  = time.Minute
	loopSilence = time.Hour
)

// countedObjects is the number of objects whose changes are counted.
const countedObjects = 2048

// Loops counts the applies that change an object, for each object and field manager. The
// appliers of a process share one, as two of them may use the same field manager. An apply that
// sends nothing costs nothing here. Loops is safe for concurrent use.
type Loops struct {
	now func() time.Time

	mu      sync.Mutex
	objects *recent.Cache[loopKey, *changes]
}

// NewLoops returns a Loops that reads the time from now; nil is time.Now.
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

// changes are the recent changes of one object by one field manager of this process.
type changes struct {
	times    []time.Time // within loopWindow, at most loopLimit of them
	version  string      // resourceVersion in the answer to the last change
	reported time.Time   // the last Loop
}

// due reports whether the next change of the object is to be reported as a loop. It returns the
// resourceVersion in the answer to the last change.
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

// changed counts a change.
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

// judged records what became of a change that was due. If it was no loop, the count begins
// again, so that the object is not read before each apply.
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

// forget drops the changes before a time.
func (c *changes) forget(before time.Time) {
	old := 0
	for old < len(c.times) && !c.times[old].After(before) {
		old++
	}
	c.times = append(c.times[:0], c.times[old:]...)
}
