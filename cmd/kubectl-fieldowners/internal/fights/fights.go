// Package fights detects field managers that work against each other: they take a field from
// each other, set and delete it in turn (Fight), or answer each other's writes without a common
// field (Loop).
//
// # Contract
//
//  1. It sees ownership only, as a watch shows it: writers that share one name, operation and
//     subresource are one manager.
//  2. It has no clock: its caller passes times. What is more than a minute ago does not count.
//  3. A fight or a loop is returned when it begins, and again each minute while it goes on.
//  4. Memory is bounded: 10,000 fields, 1,000 objects, 1,000 acts of each.
//  5. A Detector is not safe for concurrent use.
//
// Valid:
//
//	detector, err := fights.New(5)
//	for _, fight := range detector.Observe(uid, before, after, time.Now()) {
//		fmt.Println(fight.Path, fight.Message())
//	}
//
// Invalid: states of an object that leave out others in between, such as those of polling.
// Moves of a field between two polls are not seen.
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
	window     = time.Minute // in which acts are counted
	maxFields  = 10_000
	maxObjects = 1_000
	// turnsPerMinute is how many writes in turn are a loop, half of them by each of two managers,
	// and answerWithin the time within which a manager answers another one: managers that write at
	// intervals leave a pause. The API server records times in seconds.
	turnsPerMinute = 20
	answerWithin   = 2 * time.Second
)

// Detector notices managers that work against each other. It is made by New.
type Detector struct {
	perMinute int
	fields    *recent.Cache[field, *history]
	objects   *recent.Cache[string, *object]
}

type field struct{ object, path string }

// object is what is known of the writes to one object.
type object struct {
	history // of turns

	last   act       // the last write
	fought time.Time // the last act of a fight
}

// Fight is one field that managers take from each other.
type Fight struct {
	Path     fieldowners.Path
	Managers []fieldowners.Manager // by name; the zero Manager is one that managed fields do not name
	Times    int                   // acts in the last minute
	Since    time.Time             // of the first act of the fight
	Deleted  bool                  // one of the managers deleted the field instead of setting it
}

// Message returns who fights, and how often the field changed hands.
func (f Fight) Message() string {
	times := fmt.Sprintf("%d times in a minute", f.Times)
	switch {
	case f.Managers[0] == fieldowners.Manager{}:
		return fmt.Sprintf("%s set it, and somebody whom managed fields do not name, or itself, deleted it, %s", names(f.Managers[1:]), times)
	case f.Deleted:
		return fmt.Sprintf("%s in turn set and deleted it, %s", names(f.Managers), times)
	}
	return fmt.Sprintf("%s took it from each other %s", names(f.Managers), times)
}

func names(managers []fieldowners.Manager) string {
	var texts []string
	for _, m := range managers {
		texts = append(texts, m.String())
	}
	return english.WordSeries(texts, "and")
}

// Loop is managers that write to one object in turn.
type Loop struct {
	Managers []fieldowners.Manager // with half of turnsPerMinute or more, by name
	Times    int                   // turns in the last minute
}

// Message returns who writes in turn, and how often.
func (l Loop) Message() string {
	return fmt.Sprintf("%s wrote in turn %d times in a minute and took nothing from each other: each may answer the other", names(l.Managers), l.Times)
}

// New returns a Detector for which more than perMinute acts on a field in a minute are a fight. It
// returns an error if perMinute is below 1.
func New(perMinute int) (*Detector, error) {
	if perMinute < 1 {
		return nil, fmt.Errorf("%d moves in a minute: fights need at least 1", perMinute)
	}
	return &Detector{perMinute, recent.New[field, *history](maxFields), recent.New[string, *object](maxObjects)}, nil
}

// Observe counts the difference between two states of an object, and returns the fights to report, in
// the order of paths. It counts a field that goes from one manager to another one, a field that a
// manager deletes, and a field that another manager than that sets again. In a fight a manager has
// come back to a field after another one.
//
// Managed fields show who deleted a field only if that manager wrote something else as well; otherwise
// it is the zero Manager, which may even be the manager that set the field. Not counted are a field
// that its owner gave up in a write of its own, and deletions within a status, which are usual.
func (d *Detector) Observe(uid string, before, after fieldowners.Ownership, at time.Time) (found []Fight) {
	writers := fieldowners.Writers(before, after)
	diff := fieldowners.Diff(before, after)
	seen := map[string]bool{}
	count := func(path fieldowners.Path, from, by fieldowners.Manager, deleted bool) {
		if seen[path.String()] {
			return // with another owner
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

// act counts an act on a field, and returns a fight to report.
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

// Wrote counts a write to an object by one manager, and returns a loop to report. A write is a turn if
// it follows soon on one by another name. Managers that fight write in turn as well: there is no loop
// on an object with a fight.
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

// history is what managers did within the last minute.
type history struct {
	acts  []act // in the order of times
	since time.Time
	told  time.Time // zero, which is long ago: never
}

type act struct {
	at       time.Time
	from, by fieldowners.Manager
	deleted  bool
	// back means that somebody had acted against this manager before. A field that is handed down a
	// line of managers is no fight.
	back bool
}

// add adds an act. A time before the last one counts as the last one. If it is more than a minute
// before, clocks have changed, and counting begins anew.
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

// managers returns the managers of the acts, each once.
func (h *history) managers() []fieldowners.Manager {
	var found []fieldowners.Manager
	for _, a := range slices.Backward(h.acts) { // as they were last seen
		if !slices.ContainsFunc(found, a.by.SameWriter) {
			found = append(found, a.by)
		}
	}
	slices.SortFunc(found, fieldowners.Manager.Compare)
	return found
}

// actsOf returns how many acts are of a manager.
func (h *history) actsOf(m fieldowners.Manager) (n int) {
	for _, a := range h.acts {
		if a.by.SameWriter(m) {
			n++
		}
	}
	return n
}

// tell reports whether people should hear of it: at first, and from a minute on after they did.
func (h *history) tell(at time.Time) bool {
	if at.Sub(h.told) < window {
		return false
	}
	h.told = at
	return true
}
