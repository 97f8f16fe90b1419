package contention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/fights"
	"coapply.dev/internal/recent"
)

// maxTroubles is how many troubles may go on at a time; more are not recorded.
const maxTroubles = 1000

// lookAgain is how often a trouble without a breaker is looked at.
const lookAgain = 10 * time.Second

// State is what a process knows about contention. A nil State knows nothing and stops no force.
type State struct {
	Config

	metrics *metrics

	mu       sync.Mutex
	fights   *fights.Detector
	loops    *fights.Loops[apply.ObjectRef]
	rows     []*row
	policies map[string][]apply.Policy // by manager, which may have several

	strangers strangers
}

// New returns a State.
func New(config Config) (*State, error) {
	if err := config.complete(); err != nil {
		return nil, fmt.Errorf("contention: %w", err)
	}
	detector, err := fights.New(config.PerMinute)
	if err != nil {
		return nil, fmt.Errorf("contention: PerMinute: %w", err)
	}
	loops, err := fights.NewLoops[apply.ObjectRef](config.Turns, window)
	if err != nil {
		return nil, fmt.Errorf("contention: Turns: %w", err)
	}
	return &State{Config: config, fights: detector, loops: loops, metrics: newMetrics(),
		policies: map[string][]apply.Policy{}, strangers: strangers{runs: map[string]bool{}, sent: recent.New[string, struct{}](maxSent)}}, nil
}

// ours reports whether a field manager is one of ours.
func (s *State) ours(name string) bool {
	if s.Ours != nil {
		return s.Ours(name)
	}
	_, guarded := s.policies[name]
	return guarded
}

// Concerns reports whether an object belongs to an object of ours, or a manager of ours owns a
// field of it.
func (s *State) Concerns(object Object, as metav1.Object) bool {
	if object.Parent.Name != "" {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(as.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return s.ours(entry.Manager) })
}

// applies reports whether a manager writes by Apply, so that a breaker can stop it if it is
// ours.
func applies(m fieldowners.Manager) bool { return m.Operation == metav1.ManagedFieldsOperationApply }

// Guard returns the policy with a check of the breakers before each force of the manager.
func (s *State) Guard(manager string, policy apply.Policy) apply.Policy {
	if s == nil {
		return policy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies[manager] = append(s.policies[manager], policy)
	return policy.ForceUnless(func(c apply.Conflict) error { return s.refuses(manager, c) })
}

// refuses returns an error for a force that a breaker stops. All breakers of the field are asked.
func (s *State) refuses(manager string, conflict apply.Conflict) (refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, r := range s.rows {
		if r.Object.UID == conflict.Object.UID && slices.Contains(r.Yields, manager) && r.about(conflict) {
			if !r.breaker.mayForce(now) {
				refused = fmt.Errorf("%s and %s fight over it: not forced before %s", r.A.Name, r.B.Name, r.breaker.until.UTC().Format(time.TimeOnly+" MST"))
			}
		}
	}
	return refused
}

// forced tells the breakers that a force of a manager landed.
func (s *State) forced(object types.UID, manager string) {
	now := s.now()
	for _, r := range s.rows {
		if r.Object.UID == object && slices.Contains(r.Yields, manager) {
			r.breaker.forced(now)
		}
	}
}

// about reports whether a conflict is about the contested field, or one above or below it.
func (r *row) about(conflict apply.Conflict) bool {
	if conflict.Path.IsRoot() { // only the server's string is known
		return conflict.ServerPath == r.Path.ServerString()
	}
	return conflict.Path.HasPrefix(r.Path) || r.Path.HasPrefix(conflict.Path)
}

// Observe records a change of an object, and returns the objects to look at again with Take.
func (s *State) Observe(object Object, change Change) []apply.ObjectRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	changed := s.strangers.saw(object, change, now)
	changed = s.moved(object, change, now) || changed
	for _, f := range s.fights.Observe(string(object.UID), change.Fields, now) {
		changed = s.fight(object, f, now) || changed
	}
	for _, l := range s.write(object, change, now) {
		changed = s.loop(object, l, now) || changed
	}
	if changed {
		return []apply.ObjectRef{object.subject()}
	}
	return nil
}

// begin records a trouble unless it is recorded already, and reports whether it did. Those that
// are over are removed first: where nobody calls Take, they are recorded still.
func (s *State) begin(r *row, same func(*row) bool, now time.Time) bool {
	s.rows = slices.DeleteFunc(s.rows, func(r *row) bool { return !s.goesOn(r, now) })
	if slices.ContainsFunc(s.rows, same) || len(s.rows) >= maxTroubles {
		return false
	}
	s.rows = append(s.rows, r)
	return true
}

// moved tells the breakers which fields changed owners. It reports whether that opened one.
func (s *State) moved(object Object, change Change, now time.Time) (opened bool) {
	for _, r := range s.rows {
		if r.Object.UID != object.UID || r.breaker == nil {
			continue
		}
		var to, from bool
		for _, m := range change.Fields.Moved {
			if m.Path.Equal(r.Path) {
				to = to || slices.Contains(r.Yields, m.To.Name)
				from = from || slices.Contains(r.Yields, m.From.Name)
			}
		}
		if r.breaker.moved(to, from, now) {
			r.news, r.again, opened = true, true, true
		}
	}
	return opened
}

// fight records a fight if it concerns us.
func (s *State) fight(object Object, f fights.Fight, now time.Time) bool {
	a, b := plain(f.A), plain(f.B)
	if object.Parent.Name == "" && !s.ours(a.Name) && !s.ours(b.Name) {
		return false
	}
	r := &row{
		Trouble: Trouble{Reason: ReasonFight, Object: object.ObjectRef, Path: f.Path, A: a, B: b},
		subject: object.subject(), family: object, news: true,
	}
	for _, pair := range [][2]fieldowners.Manager{{a, b}, {b, a}} {
		if s.mightForce(pair[0], apply.Conflict{Object: object.ObjectRef, Manager: pair[1], Path: f.Path}) {
			r.Yields = append(r.Yields, pair[0].Name)
		}
	}
	if len(r.Yields) > 0 {
		r.breaker = newBreaker(&s.Config, now)
	}
	return s.begin(r, func(known *row) bool {
		return known.Object.UID == object.UID && known.Path.Equal(f.Path) && known.A == a && known.B == b
	}, now)
}

// mightForce reports whether a manager is guarded, and a policy of it forces the field.
func (s *State) mightForce(m fieldowners.Manager, conflict apply.Conflict) bool {
	return applies(m) && slices.ContainsFunc(s.policies[m.Name], func(p apply.Policy) bool { return p.Forces(conflict) })
}

// write passes the writer to the detector of loops. Writes of several managers that are seen as
// one have no order and are left out.
func (s *State) write(object Object, change Change, now time.Time) []fights.Loop[apply.ObjectRef] {
	var names []string
	for _, m := range change.Writers {
		switch {
		case !s.ours(m.Name) && m.Subresource != "status":
			s.loops.Interrupted(string(object.familyUID()))
			return nil
		case s.ours(m.Name) && m.Name != FieldManager && !slices.Contains(names, m.Name):
			names = append(names, m.Name)
		}
	}
	if len(names) != 1 {
		return nil
	}
	return s.loops.Wrote(string(object.familyUID()), names[0], object.ObjectRef, now)
}

func (o Object) familyUID() types.UID { return o.subject().UID }

// loop records a loop. It is none if the two managers fight, as they write in turn as well, or
// if one of them is an unknown writer, which strange reports.
func (s *State) loop(object Object, l fights.Loop[apply.ObjectRef], now time.Time) bool {
	if (s.strangers.of(l.A, l.InA, now, 0) == nil) != (s.strangers.of(l.B, l.InB, now, 0) == nil) {
		return false
	}
	r := &row{
		Trouble: Trouble{
			Reason: ReasonLoop, Object: l.InA, Other: l.InB,
			A: fieldowners.Manager{Name: l.A}, B: fieldowners.Manager{Name: l.B},
		},
		subject: object.subject(), family: object, news: true,
	}
	return s.begin(r, func(known *row) bool {
		return known.subject == r.subject && known.A.Name == r.A.Name && known.B.Name == r.B.Name
	}, now)
}

// strange records unknown writers of a subject's objects. As an answer may still show that a
// write is ours, it returns in what time to look again; 0 means not at all.
func (s *State) strange(subject apply.ObjectRef, now time.Time) (next time.Duration) {
	for _, w := range s.strangers.about(subject) {
		object := w.object.ObjectRef
		unsent := s.strangers.of(w.manager, object, now, answerTime)
		if unsent == nil {
			if s.strangers.of(w.manager, object, now, 0) != nil {
				next = answerTime
			}
			continue
		}
		r := &row{
			Trouble: Trouble{Reason: ReasonStranger, Object: object, Unsent: unsent,
				A: fieldowners.Manager{Name: w.manager, Operation: metav1.ManagedFieldsOperationApply}},
			subject: subject, family: w.object, news: true,
		}
		s.begin(r, func(r *row) bool {
			return r.Reason == ReasonStranger && r.Object.UID == object.UID && r.A.Name == w.manager
		}, now)
	}
	return next
}

// Take returns the troubles of an object in a stable order, those that have not been reported
// yet, and in what time to look again; 0 means not at all.
func (s *State) Take(subject apply.ObjectRef) (troubles []Trouble, news []News, next time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.rows = slices.DeleteFunc(s.rows, func(r *row) bool { return r.subject == subject && !s.goesOn(r, now) })
	next = s.strange(subject, now)
	for _, r := range s.rows {
		if r.subject != subject {
			continue
		}
		troubles = append(troubles, r.Trouble)
		wait := lookAgain
		if r.breaker != nil {
			wait = max(time.Second, r.breaker.ends(now).Sub(now))
		}
		next = min(cmp.Or(next, wait), wait)
		if r.news {
			if !r.again {
				s.metrics.count(r.Trouble, s.ours)
			}
			news = append(news, s.tell(r, now))
		}
	}
	slices.SortStableFunc(troubles, func(x, y Trouble) int {
		return cmp.Or(cmp.Compare(x.Reason, y.Reason), strings.Compare(x.String(), y.String()))
	})
	return troubles, news, next
}

func (s *State) tell(r *row, now time.Time) News {
	n := News{Trouble: r.Trouble, Again: r.again}
	if r.Reason == ReasonFight {
		for _, m := range []fieldowners.Manager{r.A, r.B} {
			n.Unsent = append(n.Unsent, s.strangers.of(m.Name, r.Object, now, 0)...)
		}
	}
	if r.breaker != nil {
		n.Next = r.breaker.until.Sub(now).Round(time.Second)
	}
	r.news, r.again = false, false
	return n
}

func (s *State) goesOn(r *row, now time.Time) bool {
	switch {
	case r.Reason == ReasonStranger:
		return s.strangers.of(r.A.Name, r.Object, now, 0) != nil
	case r.Reason == ReasonLoop:
		return s.loops.GoesOn(string(r.family.familyUID()), r.A.Name, r.B.Name, now)
	case r.breaker != nil:
		return r.breaker.at(now) != over
	}
	return slices.ContainsFunc(s.fights.Active(now), func(f fights.Fight) bool {
		return f.Object == string(r.Object.UID) && f.Path.Equal(r.Path) && plain(f.A) == r.A && plain(f.B) == r.B
	})
}

// Forget drops what is known about an object that is gone, and returns the objects to look at
// with Take.
func (s *State) Forget(object Object) []apply.ObjectRef {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fights.Forget(string(object.UID))
	s.loops.Forget(string(object.UID))
	s.strangers.forget(object.UID)
	var subjects []apply.ObjectRef
	s.rows = slices.DeleteFunc(s.rows, func(r *row) bool {
		gone := r.Object.UID == object.UID || r.Other.UID == object.UID || r.subject.UID == object.UID
		if gone && !slices.Contains(subjects, r.subject) {
			subjects = append(subjects, r.subject)
		}
		return gone
	})
	return subjects
}
