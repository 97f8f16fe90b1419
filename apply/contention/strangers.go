package contention

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/recent"
)

const (
	// maxSent and maxUnsent bound the writes that are remembered.
	maxSent, maxUnsent = 10_000, 1000
	// fewUnsent is how many unsent writes in a minute are not reported: their answers may
	// have been lost.
	fewUnsent = 2
	// answerTime is how much later than the watch an answer may come: until then a write
	// may be ours.
	answerTime = 5 * time.Second
)

// strangers finds writes under our names that this process did not send, by the
// resourceVersions that its applies were answered with. It has no clock.
type strangers struct {
	leads  bool            // false: another process leads and writes under our names
	runs   map[string]bool // managers of this process; another process may run the others
	sent   *recent.Cache[string, struct{}]
	unsent []unsentWrite
}

type unsentWrite struct {
	at      time.Time
	object  Object
	manager string
	version string
	fields  []fieldowners.Path
}

// Unsent describes writes that another process sent under a name of ours.
type Unsent struct {
	Manager string
	Object  apply.ObjectRef
	Writes  int                // in the minute before it was found
	Fields  []fieldowners.Path // that changed owners by these writes; values are not watched
}

// String returns what was seen and what may be the cause.
func (u Unsent) String() string {
	const shown = 3
	fields := "of values alone"
	if len(u.Fields) > 0 {
		var paths []string
		for _, path := range u.Fields[:min(shown, len(u.Fields))] {
			paths = append(paths, path.String())
		}
		if more := len(u.Fields) - len(paths); more > 0 {
			paths = append(paths, fmt.Sprintf("%d more", more))
		}
		fields = "of " + strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%d writes in a minute to %v under the name %s, %s, were not sent by this process: "+
		"another process runs with this field manager, or somebody uses its name", u.Writes, u.Object, u.Manager, fields)
}

// answered records a write that this process sent, which the watch may have shown before.
func (s *strangers) answered(version string) {
	s.sent.Put(version, struct{}{})
	s.unsent = slices.DeleteFunc(s.unsent, func(w unsentWrite) bool { return w.version == version })
}

// saw records a change that no answer explains. It ignores changes of several writers, writes
// by Update, and changes that may have rewritten managed fields alone. It reports whether there
// are now more such writes than fewUnsent.
func (s *strangers) saw(object Object, change Change, at time.Time) bool {
	manager, ok := change.applier()
	if _, sent := s.sent.Get(change.Version); !ok || !s.leads || !s.runs[manager] || change.Version == "" || sent {
		return false
	}
	s.unsent = slices.DeleteFunc(s.unsent, func(w unsentWrite) bool { return at.Sub(w.at) >= window })
	if len(s.unsent) >= maxUnsent {
		return false
	}
	s.unsent = append(s.unsent, unsentWrite{at, object, manager, change.Version, change.fields()})
	found := s.of(manager, object.ObjectRef, at, 0)
	return len(found) > 0 && found[0].Writes == fewUnsent+1
}

// applier returns the manager that applied a change; false if that is not certain.
func (c Change) applier() (string, bool) {
	writer := c.Again
	if len(c.Writers) == 1 {
		writer = c.Writers[0]
	}
	return writer.Name, applies(writer) && (c.Stamped || c.Generation)
}

// of returns what others wrote to an object as a manager, in the minute before at and at least
// ago before it. Up to fewUnsent writes count as none.
func (s *strangers) of(manager string, object apply.ObjectRef, at time.Time, ago time.Duration) []Unsent {
	found := Unsent{Manager: manager, Object: object}
	for _, w := range s.unsent {
		age := at.Sub(w.at)
		if w.manager != manager || w.object.UID != object.UID || age >= window || age < ago {
			continue
		}
		found.Writes++
		found.Fields = append(found.Fields, w.fields...)
	}
	if found.Writes <= fewUnsent {
		return nil
	}
	slices.SortFunc(found.Fields, fieldowners.Path.Compare)
	found.Fields = slices.CompactFunc(found.Fields, fieldowners.Path.Equal)
	return []Unsent{found}
}

// about returns the first unsent write of each manager to each object of a subject.
func (s *strangers) about(subject apply.ObjectRef) (firsts []unsentWrite) {
	for _, w := range s.unsent {
		same := func(first unsentWrite) bool { return first.manager == w.manager && first.object.UID == w.object.UID }
		if w.object.subject() == subject && !slices.ContainsFunc(firsts, same) {
			firsts = append(firsts, w)
		}
	}
	return firsts
}

// forget drops the writes to an object that is gone.
func (s *strangers) forget(uid types.UID) {
	s.unsent = slices.DeleteFunc(s.unsent, func(w unsentWrite) bool { return w.object.UID == uid })
}

// fields returns the first few fields that changed owners.
func (c Change) fields() (paths []fieldowners.Path) {
	const most = 8
	for _, m := range c.Fields.Moved {
		paths = append(paths, m.Path)
	}
	for _, o := range slices.Concat(c.Fields.Gained, c.Fields.Lost) {
		paths = append(paths, o.Path)
	}
	return paths[:min(most, len(paths))]
}

// Lead is called when this process begins to lead. Earlier writes under our names are those of
// the former leader.
func (s *State) Lead() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strangers.leads = true
}

// Sent declares that this process runs the manager. It returns Metrics that record each
// observed apply as sent by this process, and pass it on; metrics may be nil.
func (s *State) Sent(manager string, metrics apply.Metrics) apply.Metrics {
	if s == nil {
		return metrics
	}
	s.mu.Lock()
	s.strangers.runs[manager] = true
	s.mu.Unlock()
	if metrics == nil {
		metrics = apply.NoMetrics{}
	}
	return sending{metrics, s, manager}
}

type sending struct {
	apply.Metrics

	state   *State
	manager string
}

// ObserveApply implements apply.Metrics. It records what was written, and whether fields were
// forced. An apply that changed nothing is left out, as its answer may have the version of
// somebody else's write.
func (m sending) ObserveApply(o apply.ApplyObservation) {
	if o.Result == string(apply.Created) || o.Result == string(apply.Configured) {
		m.state.mu.Lock()
		m.state.strangers.answered(o.Object.ResourceVersion)
		if o.Conflicts[apply.Force] > 0 {
			m.state.forced(o.Object.UID, m.manager)
		}
		m.state.mu.Unlock()
	}
	m.Metrics.ObserveApply(o)
}
