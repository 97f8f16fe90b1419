package fieldowners

import (
	"cmp"
	"slices"
	"strings"
)

// Owned is one field with one of its owners. A field with several owners has one Owned for each owner.
type Owned struct {
	Path    Path
	Manager Manager
}

// String returns the field's path and its owner, such as ".spec.replicas of hpa/Update[scale]".
func (o Owned) String() string { return o.Path.String() + " of " + o.Manager.String() }

// Moved is one field that the manager From lost and the manager To gained.
type Moved struct {
	Path     Path
	From, To Manager
}

// String returns the field's path and both managers, such as ".spec.replicas: a/Update -> b/Apply".
func (m Moved) String() string {
	return m.Path.String() + ": " + m.From.String() + " -> " + m.To.String()
}

// Difference is the result of Diff: the fields whose owners differ between two ownerships of an object,
// before and after. Each list is sorted by path, then by manager.
type Difference struct {
	Gained []Owned // fields that a manager owns only in after, and that no manager lost
	Lost   []Owned // fields that a manager owned only in before, and that no manager gained
	Moved  []Moved // fields that one manager lost and another manager gained
}

// IsEmpty reports whether no manager gained or lost a field.
func (d Difference) IsEmpty() bool { return len(d.Gained)+len(d.Lost)+len(d.Moved) == 0 }

// String returns one line for each changed field, such as ".spec.replicas: lost by kubectl/Update". The lines are
// sorted by path. String returns "" if the difference is empty.
func (d Difference) String() string {
	type line struct {
		path Path
		text string
	}
	var lines []line
	for _, m := range d.Moved {
		lines = append(lines, line{m.Path, m.String()})
	}
	for _, o := range d.Lost {
		lines = append(lines, line{o.Path, o.Path.String() + ": lost by " + o.Manager.String()})
	}
	for _, o := range d.Gained {
		lines = append(lines, line{o.Path, o.Path.String() + ": gained by " + o.Manager.String()})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.path.Compare(b.path) })
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.text)
	}
	return strings.Join(texts, "\n")
}

// Diff returns the leaf fields that managers gained or lost. Parent fields are not listed: if a manager keeps one
// field of a list item and gives up another field, Diff lists only the field that was given up, and not the list
// item.
//
// Managers are identified by name, operation and subresource. A manager whose entry changed only its apiVersion or
// time has gained and lost nothing.
//
// If managers lost a field that others gained, Moved has one item for each pair of a losing and a gaining manager,
// because an ownership does not show from whom a field was taken. A gained field that no manager lost is in Gained,
// even if another manager still owns the field.
func Diff(before, after Ownership) Difference {
	lost, gained := without(before, after), without(after, before)
	losers, gainers := managersByPath(lost), managersByPath(gained)
	var d Difference
	for _, from := range lost {
		for _, to := range gainers[from.Path.String()] {
			d.Moved = append(d.Moved, Moved{Path: from.Path, From: from.Manager, To: to})
		}
	}
	d.Gained = slices.DeleteFunc(gained, func(o Owned) bool { return len(losers[o.Path.String()]) > 0 })
	d.Lost = slices.DeleteFunc(lost, func(o Owned) bool { return len(gainers[o.Path.String()]) > 0 })
	return d
}

func managersByPath(owned []Owned) map[string][]Manager {
	managers := map[string][]Manager{}
	for _, o := range owned {
		path := o.Path.String()
		managers[path] = append(managers[path], o.Manager)
	}
	return managers
}

// without returns the leaf fields that a manager owns in the ownership o but not in other, sorted by path, then by
// manager.
func without(o, other Ownership) []Owned {
	held := merge(other.entries, Manager.writer)
	var found []Owned
	for who, entry := range merge(o.entries, Manager.writer) {
		kept := held[who]
		for _, path := range entry.Leaves() {
			if !kept.Owns(path) {
				found = append(found, Owned{Path: path, Manager: entry.Manager})
			}
		}
	}
	slices.SortFunc(found, func(a, b Owned) int {
		return cmp.Or(a.Path.Compare(b.Path), a.Manager.Compare(b.Manager))
	})
	return found
}
