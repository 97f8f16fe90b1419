package predict

import (
	"cmp"
	"slices"

	"coapply.dev/fieldowners"
)

// statement is one certain result of a prediction.
type statement struct {
	section string
	path    fieldowners.Path
	text    string
	values  []any // in full, as the text may cut them off
}

// equal compares two statements of one text, which tells section and path.
func (s statement) equal(other statement) bool {
	return slices.EqualFunc(s.values, other.values, fieldowners.EqualValues)
}

// paths returns the fields that the prediction says something about.
func (p Prediction) paths() []fieldowners.Path {
	var all []fieldowners.Path
	for _, c := range p.Conflicts {
		all = append(all, c.Path)
	}
	for _, o := range p.Shared {
		all = append(all, o.Path)
	}
	for _, c := range p.Changes {
		all = append(all, c.Path)
	}
	for _, d := range p.Dropped {
		all = append(all, d.Path)
	}
	return all
}

func (p Prediction) statements() []statement {
	var all []statement
	for _, c := range p.Conflicts {
		all = append(all, statement{"conflicts", c.Path, c.String(), []any{c.Ours, c.Theirs}})
	}
	for _, o := range p.Shared {
		all = append(all, statement{"shared", o.Path, o.Path.String() + " with " + o.Manager.String(), nil})
	}
	for _, c := range p.Changes {
		all = append(all, statement{"changes", c.Path, c.String(), []any{c.Before, c.After}})
	}
	for _, d := range p.Dropped {
		all = append(all, statement{"dropped", d.Path, d.String(), []any{d.Value}})
	}
	return all
}

// differing returns the paths of statements that only one of the predictions has.
func differing(a, b Prediction) []fieldowners.Path {
	var paths []fieldowners.Path
	add := func(some, others []statement) {
		known := map[string][]statement{}
		for _, s := range others {
			known[s.text] = append(known[s.text], s)
		}
		for _, s := range some {
			if !slices.ContainsFunc(known[s.text], s.equal) {
				paths = append(paths, s.path)
			}
		}
	}
	first, second := a.statements(), b.statements()
	add(first, second)
	add(second, first)
	return paths
}

// sort sorts the conflicts; the other lists come in order.
func (p *Prediction) sort() {
	slices.SortFunc(p.Conflicts, func(a, b Conflict) int { return cmp.Or(a.Path.Compare(b.Path), a.Owner.Compare(b.Owner)) })
}

// without removes statements about doubted fields, and doubts below another one.
func (p *Prediction) without(doubts []Doubt) {
	slices.SortStableFunc(doubts, func(a, b Doubt) int {
		switch c := a.Path.Compare(b.Path); {
		case c != 0 || a.Sharing == b.Sharing:
			return c
		case b.Sharing:
			return -1
		}
		return 1
	})
	doubted := newCover()
	for _, d := range doubts {
		if !doubted.covers(d.Path) {
			p.Unsure = append(p.Unsure, d)
			doubted.add(d.Path)
		}
	}
	p.Conflicts = slices.DeleteFunc(p.Conflicts, func(c Conflict) bool { return doubted.covers(c.Path) })
	p.Shared = slices.DeleteFunc(p.Shared, func(o fieldowners.Owned) bool { return doubted.covers(o.Path) })
	p.Changes = slices.DeleteFunc(p.Changes, func(c fieldowners.Change) bool { return doubted.covers(c.Path) })
	p.Dropped = slices.DeleteFunc(p.Dropped, func(d Dropped) bool { return doubted.covers(d.Path) })
}
