package predict

import (
	"slices"
	"strconv"

	"sigs.k8s.io/structured-merge-diff/v4/merge"

	"coapply.dev/fieldowners"
)

// outcome is the result of one reading of open maps.
type outcome struct {
	Prediction

	after  fieldowners.Ownership
	gained []fieldowners.Path // owned by us afterwards and not before
}

// compare returns the outcome of an apply, from the conflicts that it meets without force, and
// the object and its owners after a forced apply.
func (q *question) compare(conflicts merge.Conflicts, merged any, after fieldowners.Ownership) outcome {
	o := outcome{Prediction: Prediction{Creates: q.live == nil}, after: after}
	for _, c := range conflicts {
		o.Conflicts = append(o.Conflicts, q.contested(c))
	}
	difference := fieldowners.Diff(q.owners, after)
	for _, gained := range difference.Gained {
		if q.isUs(gained.Manager) {
			o.gained = append(o.gained, gained.Path)
			for _, other := range q.others(after, gained.Path) {
				o.Shared = append(o.Shared, fieldowners.Owned{Path: gained.Path, Manager: other})
			}
		}
	}
	for _, lost := range difference.Lost {
		_, listed := lost.Path.Value(q.intent) // an empty map then, and one with fields now
		if q.isUs(lost.Manager) && !listed {
			o.Dropped = append(o.Dropped, q.dropped(lost.Path, merged, after))
		}
	}
	o.Changes = o.untold(fieldowners.Changes(objectOrNil(q.live), merged, q.owners))
	o.sort()
	return o
}

func (q *question) contested(c merge.Conflict) Conflict {
	contested := Conflict{Path: fieldowners.PathOf(c.Path)}
	if at, err := strconv.Atoi(c.Manager); err == nil {
		contested.Owner = q.entries[at].Manager
	}
	contested.Ours, _ = contested.Path.Value(q.intent)
	contested.Theirs, _ = contested.Path.Value(objectOrNil(q.live))
	return contested
}

func (q *question) dropped(path fieldowners.Path, merged any, after fieldowners.Ownership) Dropped {
	d := Dropped{Path: path, KeptBy: q.others(after, path)}
	d.Value, _ = path.Value(objectOrNil(q.live))
	_, stays := path.Value(merged)
	d.Removed = !stays
	return d
}

// untold returns the changes that are not in Conflicts or Dropped, without one at the root,
// which is a creation with a name alone.
func (p *Prediction) untold(changes []fieldowners.Change) []fieldowners.Change {
	conflicts, dropped := newCover(), newCover()
	for _, c := range p.Conflicts {
		conflicts.add(c.Path)
	}
	for _, d := range p.Dropped {
		dropped.add(d.Path)
	}
	return slices.DeleteFunc(changes, func(c fieldowners.Change) bool {
		return c.Path.IsRoot() || conflicts.covers(c.Path) || !c.Exists && dropped.covers(c.Path)
	})
}

// touched returns the top-level fields that the outcome says something about, at or below them,
// or that are gained.
func (o outcome) touched() []fieldowners.Path {
	var tops []fieldowners.Path
	seen := newCover()
	for _, path := range slices.Concat(o.gained, o.paths()) {
		if !path.IsRoot() && !seen.covers(path) {
			tops = append(tops, fieldowners.PathOf(path.FieldPath()[:1]))
			seen.add(tops[len(tops)-1])
		}
	}
	return tops
}

// objectOrNil returns nil for a nil map, not an object without fields.
func objectOrNil(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}

func (q *question) others(owners fieldowners.Ownership, path fieldowners.Path) []fieldowners.Manager {
	var others []fieldowners.Manager
	for _, m := range owners.OwnersOf(path) {
		if !q.isUs(m) {
			others = append(others, m)
		}
	}
	return others
}
