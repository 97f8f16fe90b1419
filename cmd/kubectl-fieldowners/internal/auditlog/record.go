package auditlog

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
)

func (r *Report) saw(e *event) {
	if r.From.IsZero() {
		r.From = e.StageTimestamp
	}
	r.To = e.StageTimestamp
	if r.Levels == nil {
		r.Levels = map[string]int{}
	}
	r.Levels[e.Level]++
}

// writer returns the Writer of a request.
func (t *tracer) writer(e *event, manager string) *Writer {
	resource := schema.GroupResource{Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource}.String()
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	k := writerKey{User: userOf(e), UserAgent: e.UserAgent, Manager: manager, Verb: e.Verb, Resource: resource}
	if t.writers[k] == nil {
		t.writers[k] = &Writer{writerKey: k}
	}
	return t.writers[k]
}

// take records that a field changed its owner.
func (t *tracer) take(w write, o *object, m fieldowners.Moved, before, after any, inferred bool) {
	old, now := shown(m.Path, o.ref, before, before != nil), shown(m.Path, o.ref, after, after != nil)
	user := userOf(w.event)
	if m.To.Name != w.manager {
		user = "unknown"
	}
	t.history(w.event, m.To.String(), &m.Path, "taken", old, now)
	if n := len(t.report.History); n > 0 && t.asked.namesOne() && t.asked.under(m.Path) {
		last := &t.report.History[n-1]
		last.From, last.Inferred, last.User = m.From.String(), inferred, user
	}
	if !t.asked.under(m.Path) {
		return
	}
	if len(t.report.Moves) < mostMoves {
		t.report.Moves = append(t.report.Moves, Move{w.StageTimestamp, m.From.String(), m.To.String()})
	}
	k := takenKey{w.key, m.Path.String(), m.From.String(), m.To.String(), inferred}
	if t.taken[k] == nil {
		t.taken[k] = &Taken{takenKey: k, Object: o.ref}
	}
	one := t.taken[k]
	one.Times++
	one.User, one.Last, one.Before, one.After = user, w.StageTimestamp, old, now
}

// conflict evaluates a response 409.
func (t *tracer) conflict(e *event, k key, w *Writer, manager string) {
	ownership := false
	if details := e.ResponseStatus.Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Type != metav1.CauseTypeFieldManagerConflict {
				continue
			}
			ownership = true
			owner := "unknown"
			if m, err := fieldowners.ParseCause(cause.Message); err == nil {
				owner = m.String()
			}
			rk := refusedKey{k, cause.Field, manager, owner}
			if t.refused[rk] == nil {
				t.refused[rk] = &Refused{Object: refOf(e, k), Path: cause.Field, Manager: manager, Owner: owner, User: userOf(e)}
			}
			t.refused[rk].Times++
			t.refused[rk].Last = e.StageTimestamp
		}
	}
	if ownership {
		w.Conflicts++
		t.history(e, manager, nil, "conflict", "", "")
		return
	}
	w.Stale++
	t.history(e, manager, nil, "stale write", "", "")
}

// history adds a change to the history of the object that --object names. path is nil for a change of the whole object.
func (t *tracer) history(e *event, manager string, path *fieldowners.Path, what, before, after string) {
	if !t.asked.namesOne() || path != nil && !t.asked.under(*path) {
		return
	}
	c := Change{Time: e.StageTimestamp, What: what, Manager: manager, User: userOf(e), Before: before, After: after}
	if path != nil {
		c.Path = path.String()
	}
	t.report.History = append(t.report.History, c)
}

// finish returns the report.
func (t *tracer) finish() Report {
	for _, w := range t.held {
		t.apply(w)
	}
	for k, one := range t.refused { // a response 409 does not have the kind
		if o := t.objects[k.key]; o != nil {
			one.Object = o.ref
		}
	}
	r := t.report
	if r.Fights == nil {
		r.Fights = []Fight{} // null as JSON otherwise
	}
	slices.SortStableFunc(r.History, func(a, b Change) int { return a.Time.Compare(b.Time) })
	r.Objects = len(t.objects)
	r.Writers = sorted(t.writers, func(a, b *Writer) int {
		return cmp.Or(b.Requests()-a.Requests(), cmp.Compare(a.User+a.Manager+a.Verb+a.Resource, b.User+b.Manager+b.Verb+b.Resource), cmp.Compare(a.UserAgent, b.UserAgent))
	})
	r.Taken = sorted(t.taken, func(a, b *Taken) int {
		return cmp.Or(b.Times-a.Times, a.Last.Compare(b.Last), cmp.Compare(a.Path+a.From+a.To, b.Path+b.From+b.To))
	})
	r.Refused = sorted(t.refused, func(a, b *Refused) int {
		return cmp.Or(b.Times-a.Times, a.Last.Compare(b.Last), cmp.Compare(a.Path+a.Manager+a.Owner, b.Path+b.Manager+b.Owner))
	})
	return r
}

// sorted returns the values of a map; an empty list is not nil, which would be null as JSON.
func sorted[K comparable, V any](values map[K]V, compare func(a, b V) int) []V {
	list := slices.AppendSeq([]V{}, maps.Values(values))
	slices.SortFunc(list, compare)
	return list
}
