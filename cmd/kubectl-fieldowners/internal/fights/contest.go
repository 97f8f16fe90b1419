package fights

import (
	"slices"
	"time"

	"coapply.dev/fieldowners"
)

// maxHolders bounds how many managers of one field are remembered.
const maxHolders = 16

// contest is one field, with the managers that take it from each other.
type contest struct {
	key       contestKey
	path      fieldowners.Path
	latest    time.Time
	moves     int
	deletedBy *fieldowners.Manager // nil if the last move was no deletion
	holders   []*holder            // the one seen last is last
	exchanges []*exchange
}

// holder is a manager that has had the field.
type holder struct {
	fieldowners.Manager

	took, lost int // number of the last move in which it did; 0 means never
}

// fieldMove is one field that went, in one step, from some managers to others, or that one
// deleted.
type fieldMove struct {
	path     fieldowners.Path
	from, to []fieldowners.Manager
	deleted  bool
}

// movesOf returns the moves of a difference, one for each field.
func movesOf(d fieldowners.Difference) []*fieldMove {
	var moves []*fieldMove
	byPath := map[string]*fieldMove{}
	for _, m := range d.Moved {
		key := m.Path.String()
		if byPath[key] == nil {
			byPath[key] = &fieldMove{path: m.Path}
			moves = append(moves, byPath[key])
		}
		move := byPath[key]
		move.from, move.to = withManager(move.from, m.From), withManager(move.to, m.To)
	}
	return moves
}

func withManager(all []fieldowners.Manager, m fieldowners.Manager) []fieldowners.Manager {
	if slices.ContainsFunc(all, m.SameWriter) {
		return all
	}
	return append(all, m)
}

// move counts a move, and returns the exchanges that it was part of.
func (c *contest) move(m *fieldMove) []*exchange {
	c.moves++
	c.deletedBy = nil
	if m.deleted {
		c.deletedBy = &m.to[0]
	}
	var touched []*exchange
	from := make([]*holder, len(m.from))
	for i, manager := range m.from {
		from[i] = c.holder(manager)
	}
	for _, manager := range m.to {
		to := c.holder(manager)
		for _, other := range c.holders {
			cameBetween := to.lost > 0 && other.took >= to.lost
			if other == to || !cameBetween && !slices.Contains(from, other) {
				continue
			}
			e := c.exchange(other.Manager, to.Manager)
			e.count(c.latest, e.b.SameWriter(to.Manager))
			e.deleted = e.deleted || m.deleted
			touched = append(touched, e)
		}
	}
	for _, h := range from {
		h.lost = c.moves
	}
	for _, manager := range m.to {
		c.holder(manager).took = c.moves
	}
	c.bound()
	return touched
}

// holder returns the holder of a manager, added if need be, as the one seen last.
func (c *contest) holder(m fieldowners.Manager) *holder {
	h := &holder{}
	if i := slices.IndexFunc(c.holders, func(h *holder) bool { return h.SameWriter(m) }); i >= 0 {
		h = c.holders[i]
		c.holders = slices.Delete(c.holders, i, i+1)
	}
	h.Manager = m
	c.holders = append(c.holders, h)
	return h
}

func (c *contest) bound() {
	for len(c.holders) > maxHolders {
		gone := c.holders[0]
		c.holders = c.holders[1:]
		c.exchanges = slices.DeleteFunc(c.exchanges, func(e *exchange) bool {
			return e.a.SameWriter(gone.Manager) || e.b.SameWriter(gone.Manager)
		})
	}
}

func (c *contest) exchange(x, y fieldowners.Manager) *exchange {
	a, b := x, y
	if b.Compare(a) < 0 {
		a, b = b, a
	}
	for _, e := range c.exchanges {
		if e.a.SameWriter(a) && e.b.SameWriter(b) {
			e.a, e.b = a, b
			return e
		}
	}
	e := &exchange{a: a, b: b}
	c.exchanges = append(c.exchanges, e)
	return e
}

// exchange is how often two managers took the field from each other.
type exchange struct {
	tally

	a, b    fieldowners.Manager
	since   time.Time // zero: no fight
	deleted bool      // the field, by one of the two
}

// fights decides after a move whether there is a fight, and whether to tell of it.
func (e *exchange) fights(at time.Time, perMinute int) bool {
	if e.times(at) <= perMinute {
		e.since = time.Time{}
		return false
	}
	if e.since.IsZero() {
		e.since = e.seconds[0].second
	}
	return e.tell(at)
}

// times returns the number of moves in the last minute; 0 if all went one way.
func (e *exchange) times(at time.Time) int {
	toA, toB := e.ways(at)
	if toA == 0 || toB == 0 {
		return 0
	}
	return toA + toB
}

func (e *exchange) fight(c *contest, at time.Time) Fight {
	return Fight{Object: c.key.object, Path: c.path, A: e.a, B: e.b, Times: e.times(at), Since: e.since, Deleted: e.deleted}
}
