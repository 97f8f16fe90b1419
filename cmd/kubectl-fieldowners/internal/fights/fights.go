// Package fights detects field managers that work against each other. In a Fight, managers take a field from each
// other, or set and delete the field in turn. In a Loop, managers write to the same object in turn without a fight.
// They probably react to each other's writes.
//
// # Contract
//
//  1. A Detector uses only the field ownership that a watch shows. It cannot distinguish writers with the same name,
//     operation and subresource.
//  2. The caller passes the time of each write. A write counts for one minute.
//  3. A fight or loop is returned when it begins, and then once a minute while it continues.
//  4. Memory is bounded: a Detector remembers at most 20,000 fields, 2,000 objects, and 1,000 writes per field or
//     object.
//  5. A Detector is not safe for concurrent use.
//
// Valid:
//
//	detector, err := fights.New(5)
//	for _, fight := range detector.Observe(uid, before, after, time.Now()) {
//		fmt.Println(fight.Path, fight.Message())
//	}
//
// Invalid: polling. A Detector needs every state of an object, as returned by a watch. Polling misses the writes
// between two polls.
package fights

import (
	"fmt"
	"slices"
	"time"

	"github.com/dustin/go-humanize/english"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

const (
	window     = time.Minute // older writes do not count
	maxFields  = 10_000      // a Detector remembers at least this number of fields, and at most twice as many
	maxObjects = 1_000       // a Detector remembers at least this number of objects, and at most twice as many
	// turnsPerMinute and answerWithin define a Loop. A manager makes a turn if it writes to an object at most
	// answerWithin after another manager wrote to the object. There is a loop if each of at least two managers makes at
	// least turnsPerMinute/2 turns within one minute. Managers that do not react to each other usually leave longer
	// pauses. A shorter answerWithin would miss turns, because the API server records times in whole seconds.
	turnsPerMinute = 20
	answerWithin   = 2 * time.Second
)

// Detector detects managers that work against each other. New creates a Detector.
type Detector struct {
	perMinute int
	fields    *recent.Cache[field, *history]
	objects   *recent.Cache[string, *object]
}

type field struct{ object, path string }

// object records the recent writes to one object.
type object struct {
	history // the turns of the last minute; see turnsPerMinute

	last   act       // the last write
	fought time.Time // the time of the last write in a fight for one of the fields; zero if there was none
}

// Fight describes one field that managers take from each other, or set and delete in turn.
type Fight struct {
	Path     fieldowners.Path
	Managers []fieldowners.Manager // sorted by name; the zero Manager stands for a deleter that is not recorded
	Times    int                   // the number of changes of the field in the last minute, as Observe counts them
	Since    time.Time             // when the fight began: the time of its first change
	Deleted  bool                  // whether one of the managers deleted the field instead of setting it
}

// Message returns a sentence that says which managers fight, and how often the field changed.
func (f Fight) Message() string {
	times := fmt.Sprintf("%d times in a minute", f.Times)
	switch {
	case f.Managers[0] == fieldowners.Manager{}:
		return fmt.Sprintf("the field changed %s: %s set the field, and an unknown manager deleted the field (managed fields do not record deletions, so one manager may have done both)", times, names(f.Managers[1:]))
	case f.Deleted:
		return fmt.Sprintf("the field changed %s: %s set and deleted the field in turn", times, names(f.Managers))
	}
	return fmt.Sprintf("%s took the field from each other %s", names(f.Managers), times)
}

func names(managers []fieldowners.Manager) string {
	var texts []string
	for _, m := range managers {
		texts = append(texts, m.String())
	}
	return english.WordSeries(texts, "and")
}

// Loop describes managers that write to one object in turn.
type Loop struct {
	Managers []fieldowners.Manager // the managers with at least half of turnsPerMinute turns, sorted by name
	Times    int                   // the number of turns in the last minute
}

// Message returns a sentence that says which managers write in turn, and how often.
func (l Loop) Message() string {
	return fmt.Sprintf("%s wrote in turn %d times in a minute and took no field from each other: they may react to each other's writes", names(l.Managers), l.Times)
}

// New returns a Detector that reports a fight if a field changes more than perMinute times within one minute. The
// comment on Observe says which changes are counted. New returns an error if perMinute is less than 1.
func New(perMinute int) (*Detector, error) {
	if perMinute < 1 {
		return nil, fmt.Errorf("the limit for a fight is %d changes of a field per minute, want at least 1", perMinute)
	}
	return &Detector{perMinute, recent.New[field, *history](maxFields), recent.New[string, *object](maxObjects)}, nil
}

// Observe records the changes of field ownership between two consecutive states of an object. It returns the fights
// to report now, sorted by path. The following changes to a field are counted:
//   - the field moves from one manager to another;
//   - a manager deletes another manager's field, except in a status, where deletions are usual;
//   - a manager sets a field that another manager has deleted.
//
// Observe returns a fight only if a manager has taken back a field that another manager had taken from it.
//
// Managed fields identify the manager that deleted a field only if the same write also set other fields. Otherwise,
// Observe attributes the deletion to the zero Manager. The unknown deleter may even be the previous owner of the
// field.
func (d *Detector) Observe(uid string, before, after fieldowners.Ownership, at time.Time) (found []Fight) {
	writers := fieldowners.Writers(before, after)
	diff := fieldowners.Diff(before, after)
	seen := map[string]bool{}
	count := func(path fieldowners.Path, from, by fieldowners.Manager, deleted bool) {
		if seen[path.String()] {
			return // this act on the field was already counted, for another owner of the field
		}
		seen[path.String()] = true
		if fight, is := d.act(uid, path, act{at: at, from: from, by: by, deleted: deleted}); is {
			found = append(found, fight)
		}
	}
	for _, moved := range diff.Moved {
		count(moved.Path, moved.From, moved.To, false)
	}
	for _, lost := range diff.Lost {
		byStatus := lost.Manager.Operation == metav1.ManagedFieldsOperationUpdate && lost.Manager.Subresource == "status"
		if byStatus || slices.ContainsFunc(writers, lost.Manager.SameWriter) || len(after.OwnersOf(lost.Path)) > 0 {
			continue
		}
		var by fieldowners.Manager
		if len(writers) == 1 {
			by = writers[0]
		}
		count(lost.Path, lost.Manager, by, true)
	}
	for _, gained := range diff.Gained {
		known, is := d.fields.Get(field{uid, gained.Path.String()})
		if !is || len(before.OwnersOf(gained.Path)) > 0 {
			continue
		}
		if last := known.acts[len(known.acts)-1]; last.deleted && !last.by.SameWriter(gained.Manager) {
			count(gained.Path, last.by, gained.Manager, false)
		}
	}
	slices.SortFunc(found, func(x, y Fight) int { return x.Path.Compare(y.Path) })
	return found
}

// act records an act on the field at the given path. If a fight must be reported now, act returns the fight and true.
func (d *Detector) act(uid string, path fieldowners.Path, a act) (Fight, bool) {
	key := field{uid, path.String()}
	h, known := d.fields.Get(key)
	if !known {
		h = &history{}
		d.fields.Put(key, h)
	}
	h.add(a)
	managers := h.managers()
	if len(h.acts) <= d.perMinute || !slices.ContainsFunc(h.acts, func(a act) bool { return a.back }) {
		h.since = time.Time{}
		return Fight{}, false
	}
	if h.since.IsZero() {
		h.since = h.acts[0].at
	}
	d.object(uid).fought = a.at
	fight := Fight{Path: path, Managers: managers, Times: len(h.acts), Since: h.since}
	fight.Deleted = slices.ContainsFunc(h.acts, func(a act) bool { return a.deleted })
	return fight, h.tell(a.at)
}

// Wrote records a write to an object by one manager. If a loop must be reported now, Wrote returns the loop and true.
// It returns no loop for an object with a recent fight, because managers that fight also write in turn.
func (d *Detector) Wrote(uid string, by fieldowners.Manager, at time.Time) (Loop, bool) {
	o := d.object(uid)
	last := o.last
	o.last = act{at: at, by: by}
	if last.by.Name == by.Name || last.at.IsZero() || at.Sub(last.at) > answerWithin {
		return Loop{}, false
	}
	o.add(o.last)
	often := slices.DeleteFunc(o.managers(), func(m fieldowners.Manager) bool { return 2*o.actsOf(m) < turnsPerMinute })
	if len(often) < 2 || at.Sub(o.fought) < window {
		return Loop{}, false
	}
	return Loop{often, len(o.acts)}, o.tell(at)
}

func (d *Detector) object(uid string) *object {
	o, known := d.objects.Get(uid)
	if !known {
		o = &object{}
		d.objects.Put(uid, o)
	}
	return o
}

// history records the acts of the last minute on one field or one object.
type history struct {
	acts  []act     // sorted by time
	since time.Time // when the fight began; zero if there is none
	told  time.Time // when the fight or loop was last reported; zero if never
}

// act is a write that set or deleted a field, or a write to an object.
type act struct {
	at       time.Time
	from, by fieldowners.Manager // the owner of the field before the write, and the manager that wrote
	deleted  bool
	// back is true if the manager of this act took back the field, which an earlier act had taken from
	// it. Without such an act there is no fight.
	back bool
}

// add appends an act. An act that is older than the last act gets the time of the last act, so that the acts stay
// sorted. If the act is more than one minute older, a clock was set back, and add removes all previous acts.
func (h *history) add(a act) {
	const most = 1_000
	if n := len(h.acts); n > 0 && a.at.Before(h.acts[n-1].at) {
		if h.acts[n-1].at.Sub(a.at) > window {
			*h = history{}
		} else {
			a.at = h.acts[n-1].at
		}
	}
	a.back = slices.ContainsFunc(h.acts, func(before act) bool { return before.from.SameWriter(a.by) })
	h.acts = slices.DeleteFunc(append(h.acts, a), func(before act) bool { return a.at.Sub(before.at) >= window })
	h.acts = h.acts[max(0, len(h.acts)-most):]
}

// managers returns the managers of the acts, each once, sorted by name.
func (h *history) managers() []fieldowners.Manager {
	var found []fieldowners.Manager
	for _, a := range slices.Backward(h.acts) { // latest first, to return the latest apiVersion of a manager
		if !slices.ContainsFunc(found, a.by.SameWriter) {
			found = append(found, a.by)
		}
	}
	slices.SortFunc(found, fieldowners.Manager.Compare)
	return found
}

func (h *history) actsOf(m fieldowners.Manager) (n int) {
	for _, a := range h.acts {
		if a.by.SameWriter(m) {
			n++
		}
	}
	return n
}

// tell reports whether the last report was at least one minute ago. If so, it records the given time as the time of
// the last report.
func (h *history) tell(at time.Time) bool {
	if at.Sub(h.told) < window {
		return false
	}
	h.told = at
	return true
}
