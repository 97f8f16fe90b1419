package fieldowners

import (
	"bytes"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// SameFor reports whether two states of an object's managed fields are the same for a manager:
// it owns the same fields by the same entries, and shares them with the same owners. What
// others own beside that, and the times, make no difference. SameFor is false if this cannot be
// decided: if the manager owns nothing, or an entry that changed is malformed or in another
// apiVersion. A cache with KeepOwn has all entries that SameFor needs.
func SameFor(manager string, before, after []metav1.ManagedFieldsEntry) bool {
	if sameEntries(before, after) {
		return slices.ContainsFunc(after, writtenBy(manager))
	}
	were, are := entriesBy(manager, before), entriesBy(manager, after)
	if len(are) == 0 || !sameEntries(were, are) {
		return false
	}
	shared := newSharing(are)
	return !shared.withOneNotIn(after, before) && !shared.withOneNotIn(before, after)
}

// SameValues reports whether two states of an unstructured object have the same value in each
// field of the entry. If the entry names parts of a list item or a map, these parts are
// compared; otherwise the whole.
func (e Entry) SameValues(before, after map[string]any) bool {
	return sameValues(e.Set(), before, after)
}

func sameValues(fields *fieldpath.Set, before, after any) bool {
	same := true
	fields.Members.Iterate(func(name fieldpath.PathElement) {
		if _, parts := fields.Children.Get(name); same && !parts {
			was, had := child(before, name)
			is, has := child(after, name)
			same = had == has && EqualValues(was, is)
		}
	})
	fields.Children.Iterate(func(name fieldpath.PathElement) {
		if !same {
			return
		}
		below, _ := fields.Children.Get(name)
		was, had := child(before, name)
		is, has := child(after, name)
		same = had == has && sameValues(below, was, is)
	})
	return same
}

// withOneNotIn reports whether an entry that is in one and not in other shares a field with
// ours.
func (s *sharing) withOneNotIn(one, other []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(one, func(entry metav1.ManagedFieldsEntry) bool {
		return !slices.ContainsFunc(other, func(known metav1.ManagedFieldsEntry) bool { return sameEntry(entry, known) }) && s.with(entry)
	})
}

func writtenBy(manager string) func(metav1.ManagedFieldsEntry) bool {
	return func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == manager }
}

func entriesBy(manager string, all []metav1.ManagedFieldsEntry) (found []metav1.ManagedFieldsEntry) {
	for _, entry := range all {
		if entry.Manager == manager {
			found = append(found, entry)
		}
	}
	return found
}

func sameEntries(a, b []metav1.ManagedFieldsEntry) bool { return slices.EqualFunc(a, b, sameEntry) }

// sameEntry reports whether two entries are equal except for the time.
func sameEntry(a, b metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource &&
		a.APIVersion == b.APIVersion && a.FieldsType == b.FieldsType && bytes.Equal(rawFields(a), rawFields(b))
}
