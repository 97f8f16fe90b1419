package explore

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// checkWrite checks the events after the given position, which are from one write of an actor: the write takes no field from
// another manager, unless the policy has decided so for exactly this version of the object, or the actor may change the field.
func (r *run) checkWrite(a *actor, req *http.Request, position int) {
	for i := position; i < len(r.events); i++ {
		before, after := r.at(r.events[i].name, i), r.events[i].now
		if a.Applies != nil && applies(req) && !a.Applies(before) {
			r.fail(fmt.Errorf("%s writes to an object that is not its own: %s", a.Name, textOf(req)))
		}
		if after == nil && a.Deletes != nil && !a.Deletes(before, r.parents(a.began)) {
			r.fail(fmt.Errorf("%s deletes an object that it must keep: %s", a.Name, textOf(req)))
		}
		if before == nil || after == nil {
			continue
		}
		if before.GetUID() != after.GetUID() {
			r.fail(fmt.Errorf("%s: one write deletes and creates the object", a.Name))
		}
		if a.TakesFrom != "" && !equal(before.Object["spec"], after.Object["spec"]) {
			r.fail(fmt.Errorf("%s changes the values %v to %v", a.Name, before.Object["spec"], after.Object["spec"]))
		}
		held, owned := ownershipOf(before), ownershipOf(after)
		writer := fieldowners.Manager{Name: req.URL.Query().Get("fieldManager"), Operation: metav1.ManagedFieldsOperationUpdate}
		if applies(req) {
			writer.Operation = metav1.ManagedFieldsOperationApply
		}
		if strings.HasSuffix(req.URL.Path, "/status") {
			writer.Subresource = "status"
		}
		for _, entry := range held.Entries() {
			if entry.SameWriter(writer) || a.TakesFrom != "" && (entry.Name == a.TakesFrom || entry.Name == writer.Name) {
				continue
			}
			for _, path := range entry.Leaves() {
				if slices.ContainsFunc(owned.OwnersOf(path), entry.SameWriter) || a.may(path) || applies(req) && a.hasJudged(before, path, entry.Manager) {
					continue
				}
				r.fail(fmt.Errorf("%s takes %v from %v without a decision: %s", a.Name, path, entry.Manager, textOf(req)))
			}
		}
	}
}

// parents returns the versions that "shop" has had since the given number of events.
func (r *run) parents(since int) []*unstructured.Unstructured {
	versions := []*unstructured.Unstructured{r.at("shop", since)}
	for _, e := range r.events[since:] {
		if e.name == "shop" {
			versions = append(versions, e.now)
		}
	}
	return versions
}

func applies(req *http.Request) bool {
	return strings.Contains(req.Header.Get("Content-Type"), "apply-patch")
}

func (a *actor) may(path fieldowners.Path) bool {
	return slices.ContainsFunc(a.Changes, func(field string) bool { return path.HasPrefix(fieldowners.MustParsePath(field)) })
}

func (a *actor) hasJudged(before *unstructured.Unstructured, path fieldowners.Path, owner fieldowners.Manager) bool {
	return slices.ContainsFunc(a.judged, func(j judgement) bool {
		return j.version == before.GetResourceVersion() && path.HasPrefix(j.path) && j.manager.SameWriter(owner)
	})
}

func ownershipOf(object *unstructured.Unstructured) fieldowners.Ownership {
	owned, err := fieldowners.Parse(object.GetManagedFields())
	if err != nil {
		panic(err) // every writer of a World writes valid managed fields
	}
	return owned
}

// checkOutcome checks a successful Apply: the object had the fields of the intent, owned by the manager, at the version
// that the outcome names. For Unchanged, it still had them at the last write of the process that was acknowledged.
func (s *Self) checkOutcome(manager string, fields map[string]any, began int, outcome apply.Outcome) error {
	r, a := s.actor.run, s.actor
	if outcome.Action == apply.Absent {
		absent := r.at("web", began) == nil || slices.ContainsFunc(r.events[began:], func(e event) bool { return e.now == nil })
		if !absent {
			return fmt.Errorf("%s: Absent, although the object existed all the time", a.Name)
		}
		return nil
	}
	at := slices.IndexFunc(r.events, func(e event) bool {
		return e.now != nil && e.now.GetResourceVersion() == outcome.Object.ResourceVersion && e.now.GetUID() == outcome.Object.UID
	})
	if at < 0 {
		return fmt.Errorf("%s: the outcome %s names the version %q, which never existed", a.Name, outcome.Action, outcome.Object.ResourceVersion)
	}
	if outcome.Action == apply.Created && at < began {
		return fmt.Errorf("%s: Created at event %d, before the call", a.Name, at)
	}
	for _, c := range outcome.Conflicts {
		decided := at // the version for which the conflict was decided
		if outcome.Action != apply.Unchanged {
			decided = slices.IndexFunc(r.events, func(e event) bool { return e.now != nil && e.now.GetResourceVersion() == c.Object.ResourceVersion })
		}
		if decided < 0 {
			return fmt.Errorf("%s: the conflict on %v names the version %q, which never existed", a.Name, c.Path, c.Object.ResourceVersion)
		}
		owners := ownershipOf(r.events[decided].now).OwnersOf(c.Path)
		if c.Decision != apply.Force && !slices.ContainsFunc(owners, c.Manager.SameWriter) {
			return fmt.Errorf("%s: %s at event %d, and concedes %v to %v, which does not own it", a.Name, outcome.Action, at, c.Path, c.Manager)
		}
	}
	if outcome.Action == apply.Unchanged {
		at = max(at, s.acknowledged)
	}
	object := r.events[at].now
	if object == nil {
		return fmt.Errorf("%s: %s, although this process has deleted the object", a.Name, outcome.Action)
	}
	owned := ownershipOf(object)
	for name, want := range fields {
		path := fieldowners.MustParsePath(".spec." + name)
		conceded := apply.Reject
		for _, c := range outcome.Conflicts {
			if path.HasPrefix(c.Path) {
				conceded = c.Decision
			}
		}
		got, _ := path.Value(object.Object)
		owns := slices.ContainsFunc(owned.OwnersOf(path), func(m fieldowners.Manager) bool {
			return m.Name == manager && m.Operation == metav1.ManagedFieldsOperationApply
		})
		switch {
		case owns == (conceded == apply.Relinquish):
			return fmt.Errorf("%s: %s at event %d, and owns %v: %v, although the decision was %v", a.Name, outcome.Action, at, path, owns, conceded)
		case conceded != apply.Relinquish && conceded != apply.Share && !equal(got, want):
			return fmt.Errorf("%s: %s at event %d, but %v is %v and not %v", a.Name, outcome.Action, at, path, got, want)
		}
	}
	if outcome.Action != apply.Unchanged {
		s.acknowledged = max(s.acknowledged, at)
	}
	return nil
}

func equal(a, b any) bool {
	one, _ := json.Marshal(a)
	other, _ := json.Marshal(b)
	return reflect.DeepEqual(one, other)
}

// rounds is how often each actor may have to act again until nothing changes.
const rounds = 6

// settle lets all caches get all events, and calls the actors again until a whole round sends no request.
func (r *run) settle() {
	r.settled = true
	for range rounds {
		quiet, before := true, len(r.events)
		for _, a := range r.actors {
			p := r.processes[a.Process]
			if a.Once || r.wrong != nil {
				continue
			}
			p.position = len(r.events)
			r.sent = 0
			ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), actorKey{}, a), actTimeout)
			err := a.Do(ctx, &Self{actor: a, Process: p})
			cancel()
			quiet = quiet && (r.sent == 0 || err != nil) // a rejected intent is sent each time
		}
		if quiet && len(r.events) == before {
			r.checkAfter()
			return
		}
	}
	if !r.world.Fights {
		r.fail(fmt.Errorf("requests are sent for a quiet object, in each of %d rounds", rounds))
	}
}

func (r *run) checkAfter() {
	if r.world.After != nil && r.wrong == nil {
		if err := r.world.After(func(name string) *unstructured.Unstructured { return r.at(name, len(r.events)) }); err != nil {
			r.fail(fmt.Errorf("at the end: %w", err))
		}
	}
}
