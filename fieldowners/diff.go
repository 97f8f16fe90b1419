package fieldowners

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Owned is one field with one of its owners.
type Owned struct {
	Path    Path
	Manager Manager
}

// String returns the field and its owner: .spec.replicas of hpa/Update[scale].
func (o Owned) String() string { return o.Path.String() + " of " + o.Manager.String() }

// Moved is one field that went from one manager to another.
type Moved struct {
	Path     Path
	From, To Manager
}

// String returns the field and both managers: .spec.replicas: a/Update -> b/Apply.
func (m Moved) String() string {
	return m.Path.String() + ": " + m.From.String() + " -> " + m.To.String()
}

// Difference is the result of Diff, each list in the order of paths, then managers.
type Difference struct {
	Gained []Owned // owned after and not before, and nobody lost the field
	Lost   []Owned // owned before and not after, and nobody gained the field
	Moved  []Moved // lost by one and gained by the other
}

// IsEmpty reports whether nobody gained or lost anything.
func (d Difference) IsEmpty() bool { return len(d.Gained)+len(d.Lost)+len(d.Moved) == 0 }

// All returns each field of the difference and what happened to it, in the order of paths.
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

// String returns a line for each field, in the order of paths; "" if the difference is empty.
func (d Difference) String() string {
	var lines []string
	for path, text := range d.All() {
		lines = append(lines, path.String()+": "+text)
	}
	return strings.Join(lines, "\n")
}

// Diff returns which managers gained and lost which leaves, which is what a person means by
// "owns": if a manager keeps one field of a list item and gives up another, it has lost the
// other one; the list item itself is not listed.
//
// Managers are identified by name, operation and subresource. An entry that only changes its
// apiVersion or its time gains and loses nothing.
//
// A field that some managers lost and others gained has moved from each of the former to each
// of the latter: several writes in one step do not show more. A field that a manager gained
// beside an owner that keeps it is in Gained.
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

// without returns the leaves that managers own in o and do not own at all in other, in the
// order of paths, then managers.
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

// byWriter returns the entries by writer, merging those that differ only in their apiVersion;
// the manager is that of the later entry.
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

// gainersOf returns the managers of one path from a list that is in the order of paths.
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
