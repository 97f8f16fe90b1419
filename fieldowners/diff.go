package fieldowners

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
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

// String returns the field's path, the manager that lost the field and the manager that gained the
// field, such as ".spec.replicas: a/Update -> b/Apply".
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

// All yields the path of each changed field and a description of the change, such as "lost by kubectl/Update". The
// changes are sorted by path.
func (d Difference) All() iter.Seq2[Path, string] {
	type finding struct {
		path Path
		text string
	}
	var all []finding
	for _, m := range d.Moved {
		all = append(all, finding{m.Path, m.From.String() + " -> " + m.To.String()})
	}
	for _, o := range d.Lost {
		all = append(all, finding{o.Path, "lost by " + o.Manager.String()})
	}
	for _, o := range d.Gained {
		all = append(all, finding{o.Path, "gained by " + o.Manager.String()})
	}
	slices.SortStableFunc(all, func(a, b finding) int { return a.path.Compare(b.path) })
	return func(yield func(Path, string) bool) {
		for _, f := range all {
			if !yield(f.path, f.text) {
				return
			}
		}
	}
}

// String returns one line for each item of All, or "" if the difference is empty.
func (d Difference) String() string {
	var lines []string
	for path, text := range d.All() {
		lines = append(lines, path.String()+": "+text)
	}
	return strings.Join(lines, "\n")
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
	moved := map[string]bool{}
	var d Difference
	for _, from := range lost {
		for _, to := range gainersOf(gained, from.Path) {
			d.Moved = append(d.Moved, Moved{Path: from.Path, From: from.Manager, To: to})
			moved[from.Path.String()] = true
		}
	}
	hasMoved := func(o Owned) bool { return moved[o.Path.String()] }
	d.Gained = slices.DeleteFunc(gained, hasMoved)
	d.Lost = slices.DeleteFunc(lost, hasMoved)
	return d
}

// without returns the leaf fields that a manager owns in the ownership o but not in other, sorted by
// path, then by manager.
func without(o, other Ownership) []Owned {
	held := byWriter(other)
	var found []Owned
	for who, entry := range byWriter(o) {
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

// byWriter returns one entry for each name, operation and subresource. Entries that differ only in their apiVersion
// are merged. A merged entry has the apiVersion and the time of the latest of these entries.
func byWriter(o Ownership) map[Manager]Entry {
	merged := map[Manager]Entry{}
	for _, entry := range o.entries {
		who := entry.writer()
		known, ok := merged[who]
		if !ok {
			known = Entry{Manager: entry.Manager, fields: fieldpath.NewSet()}
		}
		if entry.Time.After(known.Time) {
			known.Manager = entry.Manager
		}
		known.fields = known.fields.Union(entry.fields)
		merged[who] = known
	}
	return merged
}

// gainersOf returns the managers that gained the field at the given path. The gained fields must be sorted by path.
func gainersOf(gained []Owned, path Path) []Manager {
	first, _ := slices.BinarySearchFunc(gained, path, func(o Owned, p Path) int { return o.Path.Compare(p) })
	var managers []Manager
	for _, o := range gained[first:] {
		if !o.Path.Equal(path) {
			break
		}
		managers = append(managers, o.Manager)
	}
	return managers
}
