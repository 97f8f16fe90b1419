package fights

import (
	"cmp"
	"container/list"
	"fmt"
	"slices"
	"time"
)

const (
	// maxFamilies bounds how many families of objects are remembered, and maxWriters how
	// many managers of each.
	maxFamilies = 1000
	maxWriters  = 16
)

// Loops notices managers that write in turn, again and again, though neither takes a field
// from the other: each may answer what the other wrote. A family is one object, or
// several that are looked at together, such as a parent and what it controls; Place is
// what the caller wants to know of each manager's last write. It is made by NewLoops.
type Loops[Place any] struct {
	turns    int // in a minute
	within   time.Duration
	families map[string]*list.Element
	recent   *list.List // of *family; the one written to last is first
}

// family is what is known about a family of objects.
type family[Place any] struct {
	uid    string
	writes int       // so far
	latest time.Time // time of the last write
	pairs  []*pair
	last   map[string]turnOf[Place] // by manager, since somebody else wrote
}

type turnOf[Place any] struct {
	number int
	at     time.Time
	place  Place
}

// pair is two managers, and how often the one wrote after the other had.
type pair struct {
	tally

	a, b string // in this order
}

// Loop is two managers that write in turn.
type Loop[Place any] struct {
	A, B     string // in this order
	InA, InB Place  // of the last write of each
	Times    int    // turns in the minute, both managers' together
	// News reports whether this is the first turn of the loop, or the first one a minute or
	// more after it was News last.
	News bool
}

// NewLoops returns Loops for which this many turns in a minute, half of them by each manager,
// are a loop. A write is a turn if it follows one of the other manager within this time:
// answers come soon, while two managers that write at intervals leave a pause. It returns an
// error for fewer than 2 turns, or a time that is not above 0.
func NewLoops[Place any](turns int, within time.Duration) (*Loops[Place], error) {
	switch {
	case turns < 2:
		return nil, fmt.Errorf("%d turns in a minute: there and back are two", turns)
	case within <= 0:
		return nil, fmt.Errorf("turns within %v: want a time above 0", within)
	}
	return &Loops[Place]{turns: turns, within: within, families: map[string]*list.Element{}, recent: list.New()}, nil
}

// Wrote counts a write, and returns the loops that it is part of. A write is a turn after each
// other manager that wrote since this manager's last write: three that write in turn are three
// loops.
func (l *Loops[Place]) Wrote(uid, manager string, place Place, at time.Time) []Loop[Place] {
	f := l.family(uid, at)
	f.writes++
	mine, known := f.last[manager]
	if !known && len(f.last) == maxWriters {
		return nil
	}
	f.last[manager] = turnOf[Place]{f.writes, at, place}
	var found []Loop[Place]
	for other, theirs := range f.last {
		if other == manager || theirs.number < mine.number || at.Sub(theirs.at) > l.within {
			continue
		}
		p := f.pair(manager, other)
		p.count(at, manager == p.b)
		if times := p.times(at, l.turns); times > 0 {
			found = append(found, Loop[Place]{
				A: p.a, B: p.b, InA: f.last[p.a].place, InB: f.last[p.b].place, Times: times, News: p.tell(at),
			})
		}
	}
	slices.SortFunc(found, func(x, y Loop[Place]) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
	return found
}

// Interrupted makes the count of a family begin anew, because somebody else wrote.
func (l *Loops[Place]) Interrupted(uid string) {
	if element, known := l.families[uid]; known {
		f := element.Value.(*family[Place])
		f.pairs, f.last = nil, map[string]turnOf[Place]{}
	}
}

// GoesOn reports whether a loop that was found goes on, at half of its pace or more.
func (l *Loops[Place]) GoesOn(uid, a, b string, at time.Time) bool {
	element, known := l.families[uid]
	if !known {
		return false
	}
	i := slices.IndexFunc(element.Value.(*family[Place]).pairs, func(p *pair) bool { return p.a == a && p.b == b })
	return i >= 0 && element.Value.(*family[Place]).pairs[i].times(at, l.turns/2) > 0
}

// Forget drops what is known about a family.
func (l *Loops[Place]) Forget(uid string) {
	if element, known := l.families[uid]; known {
		l.recent.Remove(element)
		delete(l.families, uid)
	}
}

// family returns what is known about a family, as the one written to last, and forgets idle
// families.
func (l *Loops[Place]) family(uid string, at time.Time) *family[Place] {
	element, known := l.families[uid]
	if !known {
		element = l.recent.PushFront(&family[Place]{uid: uid, last: map[string]turnOf[Place]{}})
		l.families[uid] = element
	}
	l.recent.MoveToFront(element)
	f := element.Value.(*family[Place])
	f.latest = at
	for oldest := l.recent.Back().Value.(*family[Place]); oldest != f; oldest = l.recent.Back().Value.(*family[Place]) {
		if len(l.families) <= maxFamilies && at.Sub(oldest.latest) < fightWindow {
			break
		}
		l.Forget(oldest.uid)
	}
	return f
}

func (f *family[Place]) pair(x, y string) *pair {
	a, b := min(x, y), max(x, y)
	for _, p := range f.pairs {
		if p.a == a && p.b == b {
			return p
		}
	}
	p := &pair{a: a, b: b}
	f.pairs = append(f.pairs, p)
	return p
}

// times counts the turns of the last minute: none if fewer than half of so many went each way.
func (p *pair) times(at time.Time, turns int) int {
	toA, toB := p.ways(at)
	if 2*min(toA, toB) < turns {
		return 0
	}
	return toA + toB
}
