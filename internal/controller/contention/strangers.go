package contention

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

const (
	// maxSent and maxUnsent bound the writes that are remembered.
	maxSent, maxUnsent = 10_000, 1000
	// fewUnsent is up to how many writes in a minute are told of nobody: an answer that
	// was lost, or that comes later than the watch.
	fewUnsent = 2
)

// strangers finds writes under our names that this process did not send, by the
// resourceVersions that its applies were answered with. It has no clock.
type strangers struct {
	sent   map[string]bool
	order  []string // of sent, the oldest first
	unsent []unsentWrite
}

type unsentWrite struct {
	at      time.Time
	uid     types.UID
	manager string
	version string
	fields  []fieldowners.Path
}

// Unsent are writes that somebody else sent under a name of ours.
type Unsent struct {
	Manager string
	Object  apply.ObjectRef
	Writes  int                // in the minute before it was found
	Fields  []fieldowners.Path // that changed owners with them; values are not watched
}

// String says what was seen, and what it may be.
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

// answered notes a write that this process sent.
func (s *strangers) answered(version string) {
	if version == "" || s.sent[version] {
		return
	}
	if s.sent == nil {
		s.sent = map[string]bool{}
	}
	if len(s.order) == maxSent {
		delete(s.sent, s.order[0])
		s.order = s.order[1:]
	}
	s.sent[version] = true
	s.order = append(s.order, version)
}

// saw is shown a change. One that several wrote, or that is no apply of ours, is
// passed over: what is written by get-modify-update is not answered for here.
func (s *strangers) saw(uid types.UID, change Change, at time.Time) {
	if len(change.Writers) != 1 || !applies(change.Writers[0]) || change.Version == "" || s.sent[change.Version] {
		return
	}
	s.unsent = slices.DeleteFunc(s.unsent, func(w unsentWrite) bool { return at.Sub(w.at) >= window })
	if len(s.unsent) < maxUnsent {
		s.unsent = append(s.unsent, unsentWrite{at, uid, change.Writers[0].Name, change.Version, change.fields()})
	}
}

// of gives what others wrote to an object as a manager, in the minute before. A write
// may be seen before its answer is: it is looked up again.
func (s *strangers) of(manager string, object apply.ObjectRef, at time.Time) []Unsent {
	found := Unsent{Manager: manager, Object: object}
	for _, w := range s.unsent {
		if w.manager != manager || w.uid != object.UID || s.sent[w.version] || at.Sub(w.at) >= window {
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

// fields are those that changed owners, a few of them.
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

// Sent has the applies that are observed count as those of this process.
func (s *State) Sent(metrics apply.Metrics) apply.Metrics {
	if s == nil {
		return metrics
	}
	if metrics == nil {
		metrics = apply.NoMetrics{}
	}
	return sending{metrics, s}
}

type sending struct {
	apply.Metrics

	state *State
}

// ObserveApply notes what was written. An apply that changed nothing may carry the
// version of somebody else's write.
func (m sending) ObserveApply(o apply.ApplyObservation) {
	if o.Result == string(apply.Created) || o.Result == string(apply.Configured) {
		m.state.mu.Lock()
		m.state.strangers.answered(o.Object.ResourceVersion)
		m.state.mu.Unlock()
	}
	m.Metrics.ObserveApply(o)
}
