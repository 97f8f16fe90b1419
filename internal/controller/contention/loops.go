package contention

import (
	"cmp"
	"container/list"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
)

const (
	// window is the sliding time in which turns are counted, as that of fights.
	window = time.Minute
	// maxFamilies bounds how many parents, with what they control, are remembered, and
	// maxWriters how many managers of each.
	maxFamilies = 1000
	maxWriters  = 16
)

// loops finds managers of ours that write in turn. It has no clock.
type loops struct {
	turns    int // in a minute
	families map[types.UID]*list.Element
	recent   *list.List // of *family; the one written to last is in front
}

// family is a parent and what it controls, or an object without a parent.
type family struct {
	uid    types.UID
	writes int       // so far
	latest time.Time // the last of them
	pairs  []*pair
	last   map[string]write // by manager, since somebody else wrote
}

type write struct {
	number int
	object apply.ObjectRef
}

// pair is two managers, and when the one wrote after the other had.
type pair struct {
	a, b  string // in this order
	turns []turn // oldest first
}

type turn struct {
	at  time.Time
	toB bool
}

// loop is a pair that goes round, and where each wrote last.
type loop struct {
	a, b     string
	inA, inB apply.ObjectRef
}

func newLoops(turns int) *loops {
	return &loops{turns: turns, families: map[types.UID]*list.Element{}, recent: list.New()}
}

// wrote counts a write of ours, and gives the loops that it is part of. A manager
// takes its turn after each of the others that wrote since its own last write: three
// that go round are three pairs.
func (l *loops) wrote(uid types.UID, manager string, object apply.ObjectRef, at time.Time) []loop {
	f := l.family(uid, at)
	f.writes++
	mine, known := f.last[manager]
	if !known && len(f.last) == maxWriters {
		return nil
	}
	f.last[manager] = write{f.writes, object}
	var found []loop
	for other, theirs := range f.last {
		if other == manager || theirs.number < mine.number {
			continue
		}
		p := f.pair(manager, other)
		p.turns = append(p.since(at), turn{at, manager == p.b})
		if p.turns = p.turns[max(0, len(p.turns)-4*l.turns):]; p.goesRound(at, l.turns) {
			found = append(found, loop{p.a, p.b, f.last[p.a].object, f.last[p.b].object})
		}
	}
	slices.SortFunc(found, func(x, y loop) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) })
	return found
}

// interrupted has the count of a family begin anew: somebody else wrote.
func (l *loops) interrupted(uid types.UID) {
	if element, known := l.families[uid]; known {
		f := element.Value.(*family)
		f.pairs, f.last = nil, map[string]write{}
	}
}

// goesOn tells whether a loop that was found does, at half of its pace.
func (l *loops) goesOn(uid types.UID, a, b string, at time.Time) bool {
	element, known := l.families[uid]
	if !known {
		return false
	}
	i := slices.IndexFunc(element.Value.(*family).pairs, func(p *pair) bool { return p.a == a && p.b == b })
	return i >= 0 && element.Value.(*family).pairs[i].goesRound(at, l.turns/2)
}

func (l *loops) forget(uid types.UID) {
	if element, known := l.families[uid]; known {
		l.recent.Remove(element)
		delete(l.families, uid)
	}
}

// family gives what is known of one, as the one written to last, and forgets those
// that have been idle.
func (l *loops) family(uid types.UID, at time.Time) *family {
	element, known := l.families[uid]
	if !known {
		element = l.recent.PushFront(&family{uid: uid, last: map[string]write{}})
		l.families[uid] = element
	}
	l.recent.MoveToFront(element)
	f := element.Value.(*family)
	f.latest = at
	for oldest := l.recent.Back().Value.(*family); oldest != f; oldest = l.recent.Back().Value.(*family) {
		if len(l.families) <= maxFamilies && at.Sub(oldest.latest) < window {
			break
		}
		l.forget(oldest.uid)
	}
	return f
}

func (f *family) pair(x, y string) *pair {
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

// since gives the turns of the last minute.
func (p *pair) since(at time.Time) []turn {
	first := slices.IndexFunc(p.turns, func(t turn) bool { return at.Sub(t.at) < window })
	if first < 0 {
		return nil
	}
	return p.turns[first:]
}

// goesRound tells whether there were so many turns in the last minute, half of them
// each way.
func (p *pair) goesRound(at time.Time, turns int) bool {
	var toA, toB int
	for _, t := range p.since(at) {
		if t.toB {
			toB++
		} else {
			toA++
		}
	}
	return 2*min(toA, toB) >= turns
}
