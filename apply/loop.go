package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

// Loop reports an endless loop: the applies of one field manager changed one object more than 30
// times within a minute. A Loop describes the last change. The object is read immediately before
// the last apply, and is compared with the API server's response to that apply.
type Loop struct {
	FieldManager string
	Object       ObjectRef
	Fields       []LoopField // the fields that the last apply changed; empty if Recreated
	Recreated    bool        // the object did not exist before the last apply
	// Alone means that nobody else wrote to the object between the last two changes by this
	// process. So this process itself applied both the values before and the values after.
	Alone bool
	// Others are the other field managers that owned fields of the object before the last apply.
	Others []fieldowners.Manager
}

// LoopField is a field that the last apply of a Loop changed. Values that must not be shown, see
// IsHidden, are replaced by fieldowners.Hidden.
type LoopField struct {
	fieldowners.Change

	Owners []fieldowners.Manager // the owners of the field before the last apply
}

// String returns the path of the field, the values before and after, and the owners of the value
// before.
func (f LoopField) String() string {
	before, after := "absent", "absent"
	if f.Existed {
		before = fieldowners.FormatValue(f.Before)
		if len(f.Owners) > 0 {
			before += " (owned by " + namesOf(f.Owners) + ")"
		}
	}
	if f.Exists {
		after = fieldowners.FormatValue(f.After)
	}
	return fmt.Sprintf("%s from %s to %s", f.Path, before, after)
}

// String returns a message with the object, the changed fields with their values, the cause, and
// what to do.
func (l Loop) String() string {
	return fmt.Sprintf("the field manager %q changed %v more than %d times within a minute; the last apply changed %s. %s",
		l.FieldManager, l.Object, loopLimit, l.changed(), l.advice())
}

// changed returns a text with the first three changed fields, and the number of the remaining
// fields.
func (l Loop) changed() string {
	const most = 3
	if l.Recreated {
		return "the object from absent to what the intent lists"
	}
	var texts []string
	for _, field := range l.Fields[:min(most, len(l.Fields))] {
		texts = append(texts, field.String())
	}
	if more := len(l.Fields) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// advice returns the cause of the loop, as far as it is known, and what to do.
func (l Loop) advice() string {
	ours := func(m fieldowners.Manager) bool { return m.Name == l.FieldManager }
	var theirs []fieldowners.Manager
	isOurs := false
	for _, field := range l.Fields {
		isOurs = isOurs || slices.ContainsFunc(field.Owners, ours)
		theirs = append(theirs, slices.DeleteFunc(slices.Clone(field.Owners), ours)...)
	}
	switch {
	case l.Recreated:
		return "Somebody deletes the object after each apply: stop the one or the other"
	case l.Alone:
		return "Nobody else wrote in between: this process applies both under this name. " +
			"Give each controller a field manager of its own, and apply the same intent as long as its input is the same. " +
			"If neither value is in an intent, an admission webhook sets the field"
	case isOurs:
		return "Another process applies under this name, or this process applies both. " +
			"Give each writer a field manager of its own, and apply the same intent as long as its input is the same"
	case len(theirs) > 0:
		return namesOf(theirs) + " changes the value back after each apply: stop one of the two, or relinquish the field by apply.Relinquish"
	case len(l.Others) > 0:
		return "Another writer removes the value after each apply; the other managers of the object are " + namesOf(l.Others) + ": stop one of the two"
	}
	return "Another writer, which owns nothing of the object, removes the value after each apply: stop one of the two"
}

// namesOf returns a text with the names of the first three managers, without repetitions, and the
// number of the remaining managers.
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

// suspect is the state of an object just before an apply that will be reported as a loop if the
// apply changes the object.
type suspect struct {
	object *unstructured.Unstructured // nil if the object did not exist
	alone  bool                       // nobody else wrote to the object since the last change by this process
}

func (c *call) loopKey() loopKey { return loopKey{c.ref.Key(), c.config.FieldManager} }

// lookBefore reads the object before an apply, if a change by that apply would be reported as a
// loop. If the read fails, this apply is not reported, and the next change may be.
func (c *call) lookBefore(ctx context.Context) {
	if c.config.Loops == nil || c.dryRun {
		return
	}
	version, due := c.config.Loops.due(c.loopKey())
	if !due {
		return
	}
	switch live, err := c.readLive(ctx); {
	case err == nil:
		c.suspect = &suspect{live, live.GetResourceVersion() == version}
	case errors.Is(err, errAbsent):
		c.suspect = &suspect{}
	}
}

// countChange counts an apply that changed the object. It returns a Loop if the change is to be
// reported, and nil otherwise.
func (c *call) countChange(landed *answer, action Action) *Loop {
	if c.config.Loops == nil || c.dryRun || action != Created && action != Configured {
		return nil
	}
	c.config.Loops.changed(c.loopKey(), c.ref.ResourceVersion)
	if c.suspect == nil {
		return nil
	}
	loop := c.loopOf(landed)
	c.config.Loops.judged(c.loopKey(), loop != nil)
	if loop != nil {
		c.log.Error(errors.New(loop.String()), "found an endless loop of applies")
	}
	return loop
}

// loopOf compares the object before and after an apply. It returns nil if the apply changed no
// value: the action Configured alone may mean that only another manager wrote.
func (c *call) loopOf(landed *answer) *Loop {
	loop := &Loop{FieldManager: c.config.FieldManager, Object: c.ref, Recreated: c.suspect.object == nil, Alone: c.suspect.alone}
	after := landed.object()
	switch {
	case loop.Recreated:
		return loop
	case after == nil:
		return nil
	}
	held, _ := fieldowners.ParseReadable(c.suspect.object.GetManagedFields())
	owned, _ := fieldowners.ParseReadable(after.GetManagedFields())
	for _, change := range fieldowners.Changes(values(c.suspect.object), values(after), held, owned) {
		loop.Fields = append(loop.Fields, c.loopField(change, held))
	}
	isForeign := func(f LoopField) bool {
		return !slices.ContainsFunc(slices.Concat(f.Owners, owned.OwnersOf(f.Path)), c.isOurs)
	}
	if ours := slices.DeleteFunc(slices.Clone(loop.Fields), isForeign); len(ours) > 0 {
		loop.Fields = ours
	} else if len(loop.Fields) == 0 || !loop.Alone { // other writers changed the other fields
		return nil
	}
	for _, entry := range held.Entries() {
		if !c.isOurs(entry.Manager) {
			loop.Others = append(loop.Others, entry.Manager)
		}
	}
	return loop
}

func (c *call) loopField(change fieldowners.Change, held fieldowners.Ownership) LoopField {
	if hides(c.ref, change.Path, change.Before, change.After) {
		change.Before, change.After = fieldowners.Hide(change.Before), fieldowners.Hide(change.After)
	}
	return LoopField{Change: change, Owners: held.OwnersOf(change.Path)}
}

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
