package fieldowners

import (
	"cmp"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// Shared is a field that a manager applied and that another one owns as well: if the manager
// applies another value, it conflicts with that owner.
type Shared struct {
	Path Path
	By   Manager // the applier
	With Manager
}

// String returns the field and its other owner.
func (s Shared) String() string { return fmt.Sprintf("%s with %s", s.Path, s.With) }

// SharedBy returns the fields that an applier shares, in the order of paths, then of the other
// owners. The existence of a list item or of a member of a set, and key fields, are left out,
// as they cannot have another value. So are entries that cannot be read.
func SharedBy(entries []metav1.ManagedFieldsEntry, applier, subresource string) []Shared {
	isOwn := func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == applier && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == subresource
	}
	at := slices.IndexFunc(entries, isOwn)
	if at < 0 {
		return nil
	}
	own, err := parseEntry(entries[at])
	if err != nil {
		return nil
	}
	near := newSharing(entries[at : at+1])
	var shared []Shared
	for i, theirs := range entries {
		if i == at || near.apart(theirs) {
			continue
		}
		entry, err := parseEntry(theirs)
		if err != nil {
			continue
		}
		for _, path := range valuesOf(own.fields.Leaves().Intersection(entry.fields)) {
			shared = append(shared, Shared{path, own.Manager, entry.Manager})
		}
	}
	slices.SortStableFunc(shared, func(a, b Shared) int {
		return cmp.Or(a.Path.Compare(b.Path), a.With.Compare(b.With))
	})
	return shared
}

// valuesOf returns the fields of a set that can have another value.
func valuesOf(set *fieldpath.Set) []Path {
	return slices.DeleteFunc(Entry{fields: set}.Fields(), func(path Path) bool {
		return path.elements[len(path.elements)-1].FieldName == nil || path.IsKeyField()
	})
}
