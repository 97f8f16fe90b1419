package fieldowners

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Prediction is what Predict found, each list in the order of paths, then managers.
// What a Secret keeps secret is hidden in it.
type Prediction struct {
	Creates   bool        // there is no live object
	Conflicts []Contested // an apply without force fails with these, a forced one takes them
	Shared    []Owned     // fields that become ours and stay another manager's: equal values
	Changes   []Change    // values that differ afterwards, without those of conflicts and of what is dropped
	Dropped   []Dropped   // fields that we applied before and no longer list
	Unsure    []Doubt     // of what stands here and below, nothing is said above
}

// Contested is a field of the intent that another manager owns with another value.
type Contested struct {
	Path         Path
	Owner        Manager
	Ours, Theirs any // Theirs is nil where the live object lacks the field
}

// String gives the field, both values and the owner on one line.
func (c Contested) String() string {
	return fmt.Sprintf("%s to %s, owned by %s with %s", c.Path, short(c.Ours), c.Owner, short(c.Theirs))
}

// Dropped is a field that its manager gives up by leaving it out.
type Dropped struct {
	Path   Path
	Value  any       // as it is live
	KeptBy []Manager // who owns it afterwards
	// Removed: the value goes. A server that has a default for the field puts that in
	// its place.
	Removed bool
}

// String gives the field and what becomes of it on one line.
func (d Dropped) String() string {
	switch {
	case d.Removed:
		return fmt.Sprintf("%s goes with its value %s", d.Path, short(d.Value))
	case len(d.KeptBy) == 0:
		return d.Path.String() + " is owned by nobody then"
	}
	var names []string
	for _, owner := range d.KeptBy {
		names = append(names, owner.String())
	}
	return fmt.Sprintf("%s stays, owned by %s", d.Path, strings.Join(names, ", "))
}

// Doubt is a field of which managed fields do not tell what an apply does to it.
type Doubt struct {
	Path   Path
	Reason string
}

// String gives the field and the reason on one line.
func (d Doubt) String() string { return d.Path.String() + ": " + d.Reason }

// IsEmpty tells whether an apply would change no value, gain no co-owner and drop
// nothing, for certain.
func (p Prediction) IsEmpty() bool {
	return !p.Creates && len(p.Conflicts)+len(p.Shared)+len(p.Changes)+len(p.Dropped)+len(p.Unsure) == 0
}

// String gives a line for each finding under what it is; "nothing changes" when
// empty.
func (p Prediction) String() string {
	if p.IsEmpty() {
		return "nothing changes\n"
	}
	var b strings.Builder
	if p.Creates {
		b.WriteString("the object is created\n")
	}
	section := ""
	for _, f := range p.statements() {
		if f.section != section {
			section = f.section
			b.WriteString(section + ":\n")
		}
		b.WriteString("  " + f.text + "\n")
	}
	for i, d := range p.Unsure {
		if i == 0 {
			b.WriteString("unsure:\n")
		}
		b.WriteString("  " + d.String() + "\n")
	}
	return b.String()
}

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
	slices.SortStableFunc(doubts, func(a, b Doubt) int { return a.Path.Compare(b.Path) })
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
