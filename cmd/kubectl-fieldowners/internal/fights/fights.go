package fights

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"time"

	"coapply.dev/fieldowners"
)

const (
	// fightWindow is the sliding time in which moves are counted, to the second.
	fightWindow = time.Minute
	// maxContests bounds how many fields are remembered.
	maxContests = 10_000
)

// Detector notices managers that take a field from each other more often than a set
// number of times in a minute. Observe takes no account of a manager that deletes
// another's field; ObserveWrite does. It is made by New; the zero value notices nothing.
type Detector struct {
	perMinute int
	contests  map[contestKey]*list.Element // of *contest
	recent    *list.List                   // the one that moved last is first
}

type contestKey struct{ object, path string }

// Fight is one field that two managers take from each other.
type Fight struct {
	Object string // as given to Observe
	Path   fieldowners.Path
	A, B   fieldowners.Manager // as they were last seen, ordered by name, operation and subresource
	// Times is how often the field went from one to the other in the minute, both
	// directions together.
	Times int
	// Since is the time of the first of the moves that made it a fight. It stays the same until
	// the fight ends.
	Since time.Time
	// Deleted reports whether one of the two deleted the field instead of setting it. If A is
	// zero, managed fields do not show who deleted the field.
	Deleted bool
}

// String returns who fights about what.
func (f Fight) String() string {
	return fmt.Sprintf("%s of %s: %s", f.Path, f.Object, f.Message())
}

// Message returns who fights, and how often the field moved.
func (f Fight) Message() string {
	times := fmt.Sprintf("%d times in a minute", f.Times)
	switch {
	case f.A == fieldowners.Manager{}:
		return fmt.Sprintf("%s set it, and somebody whom managed fields do not name, or itself, deleted it, %s", f.B, times)
	case f.Deleted:
		return fmt.Sprintf("%s and %s in turn set and deleted it, %s", f.A, f.B, times)
	}
	return fmt.Sprintf("%s and %s took it from each other %s", f.A, f.B, times)
}

// New returns a Detector for which more than perMinute moves in a minute are a fight, each way
// counted. It returns an error if perMinute is below 1.
func New(perMinute int) (*Detector, error) {
	if perMinute < 1 {
		return nil, fmt.Errorf("%d moves in a minute: fights need at least 1", perMinute)
	}
	return &Detector{perMinute: perMinute, contests: map[contestKey]*list.Element{}, recent: list.New()}, nil
}

// Observe counts the moves in a difference that was seen at a time, and returns the fights to
// report: each when it begins, and while it goes on with the first move a minute or more after
// it was last returned. Fields that are gained or lost without a move are not counted.
//
// A field has gone from A to B if B takes it from A, or from another manager that came after A
// since B last had it: three that take a field in turn are three fights. In a fight the field
// has gone both ways.
//
// A time before the last one of the same field counts as the last one. If it is more than a
// minute before, clocks have changed, and counting begins anew.
func (f *Detector) Observe(object string, d fieldowners.Difference, at time.Time) []Fight {
	if f.recent == nil {
		return nil
	}
	return f.count(object, movesOf(d), at)
}

func (f *Detector) count(object string, moves []*fieldMove, at time.Time) []Fight {
	var found []Fight
	for _, m := range moves {
		c := f.contest(object, m.path, at)
		if at.After(c.latest) {
			c.latest = at
		}
		for _, e := range c.move(m) {
			if e.fights(c.latest, f.perMinute) {
				found = append(found, e.fight(c, c.latest))
			}
		}
	}
	sortFights(found)
	return found
}

// Forget drops what is known about an object.
func (f *Detector) Forget(object string) {
	for key := range f.contests {
		if key.object == object {
			f.drop(key)
		}
	}
}

// Active returns the fights that go on at a time, ordered by object, path and managers. A fight
// that is no longer returned has ended: the minute before had few enough moves.
func (f *Detector) Active(at time.Time) []Fight {
	if f.recent == nil {
		return nil
	}
	var found []Fight
	for element := f.recent.Front(); element != nil; element = element.Next() {
		c := element.Value.(*contest)
		for _, e := range c.exchanges {
			if fight := e.fight(c, at); fight.Times > f.perMinute {
				found = append(found, fight)
			}
		}
	}
	sortFights(found)
	return found
}

func sortFights(fights []Fight) {
	slices.SortFunc(fights, func(x, y Fight) int {
		return cmp.Or(cmp.Compare(x.Object, y.Object), x.Path.Compare(y.Path), x.A.Compare(y.A), x.B.Compare(y.B))
	})
}

// contest returns the contest of a field, added if need be, as the one that moved last.
func (f *Detector) contest(object string, path fieldowners.Path, at time.Time) *contest {
	key := contestKey{object, path.String()}
	if element, known := f.contests[key]; known {
		if c := element.Value.(*contest); c.latest.Sub(at) <= fightWindow {
			f.recent.MoveToFront(element)
			return c
		}
		f.drop(key)
	}
	c := &contest{key: key, path: path}
	f.contests[key] = f.recent.PushFront(c)
	if f.recent.Len() > maxContests {
		f.drop(f.recent.Back().Value.(*contest).key)
	}
	return c
}

func (f *Detector) drop(key contestKey) {
	f.recent.Remove(f.contests[key])
	delete(f.contests, key)
}
