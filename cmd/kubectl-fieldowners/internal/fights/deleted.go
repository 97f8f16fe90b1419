package fights

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// ObserveWrite does what Observe does with the difference of two states of an object, and also
// counts a field that one manager sets again and again and another one deletes. Managed fields
// show who deleted a field only if that manager wrote something else as well; otherwise it is
// the zero Manager, which may even be the manager that set the field. Not counted are a field
// that its owner gave up in a write of its own, and deletions within a status, which are usual.
func (f *Detector) ObserveWrite(object string, before, after fieldowners.Ownership, at time.Time) []Fight {
	if f.recent == nil {
		return nil
	}
	d := fieldowners.Diff(before, after)
	moves := append(movesOf(d), deletions(d, after, fieldowners.Writers(before, after))...)
	moves = append(moves, f.restored(object, d, before)...)
	return f.count(object, moves, at)
}

// deletions returns the fields that nobody owns any more.
func deletions(d fieldowners.Difference, after fieldowners.Ownership, writers []fieldowners.Manager) (moves []*fieldMove) {
	byPath := map[string]*fieldMove{}
	for _, lost := range d.Lost {
		byStatus := lost.Manager.Operation == metav1.ManagedFieldsOperationUpdate && lost.Manager.Subresource == "status"
		if byStatus || slices.ContainsFunc(writers, lost.Manager.SameWriter) || len(after.OwnersOf(lost.Path)) > 0 {
			continue
		}
		key := lost.Path.String()
		if byPath[key] == nil {
			byPath[key] = &fieldMove{path: lost.Path, to: []fieldowners.Manager{{}}, deleted: true}
			if len(writers) == 1 {
				byPath[key].to = writers
			}
			moves = append(moves, byPath[key])
		}
		byPath[key].from = append(byPath[key].from, lost.Manager)
	}
	return moves
}

// restored returns the moves of fields that somebody had deleted and that are set again.
func (f *Detector) restored(object string, d fieldowners.Difference, before fieldowners.Ownership) (moves []*fieldMove) {
	for _, gained := range d.Gained {
		element, known := f.contests[contestKey{object, gained.Path.String()}]
		if !known || len(before.OwnersOf(gained.Path)) > 0 {
			continue
		}
		c := element.Value.(*contest)
		if c.deletedBy != nil && !c.deletedBy.SameWriter(gained.Manager) {
			moves = append(moves, &fieldMove{path: gained.Path, from: []fieldowners.Manager{*c.deletedBy}, to: []fieldowners.Manager{gained.Manager}})
		}
	}
	return moves
}
