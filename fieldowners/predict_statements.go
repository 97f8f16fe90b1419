package fieldowners

import (
	"cmp"
	"slices"
)

// statement is one thing that a prediction says for certain.
type statement struct {
	section string
	path    Path
	text    string
	values  []any // of which the text may show a part
}

func (s statement) equal(other statement) bool {
	return s.section == other.section && s.text == other.text && s.path.Equal(other.path) &&
		slices.EqualFunc(s.values, other.values, equalValues)
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

// sort brings the lists into their order.
func (p *Prediction) sort() {
	slices.SortFunc(p.Conflicts, func(a, b Contested) int { return cmp.Or(a.Path.Compare(b.Path), a.Owner.compare(b.Owner)) })
	slices.SortFunc(p.Shared, func(a, b Owned) int { return cmp.Or(a.Path.Compare(b.Path), a.Manager.compare(b.Manager)) })
	slices.SortFunc(p.Dropped, func(a, b Dropped) int { return a.Path.Compare(b.Path) })
}

// without takes out what is said of doubted fields, and of doubts those below
// another one.
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
	for _, d := range doubts {
		if !p.doubted(d.Path) {
			p.Unsure = append(p.Unsure, d)
		}
	}
	p.Conflicts = slices.DeleteFunc(p.Conflicts, func(c Contested) bool { return p.doubted(c.Path) })
	p.Shared = slices.DeleteFunc(p.Shared, func(o Owned) bool { return p.doubted(o.Path) })
	p.Changes = slices.DeleteFunc(p.Changes, func(c Change) bool { return p.doubted(c.Path) })
	p.Dropped = slices.DeleteFunc(p.Dropped, func(d Dropped) bool { return p.doubted(d.Path) })
}

func (p *Prediction) doubted(path Path) bool {
	return slices.ContainsFunc(p.Unsure, func(d Doubt) bool { return path.HasPrefix(d.Path) })
}
