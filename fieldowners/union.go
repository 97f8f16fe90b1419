package fieldowners

import (
	"slices"
)

// Equal reports whether both have the same entries with the same fields and times.
// Whether anybody owns something else is for Diff to tell.
func (o Ownership) Equal(other Ownership) bool {
	return slices.EqualFunc(o.entries, other.entries, func(a, b Entry) bool {
		return a.SameEntry(b.Manager) && a.Time.Equal(b.Time) && a.fields.Equals(b.fields)
	})
}

// Union is what managers own in one or both. An entry is known by name, operation,
// subresource and apiVersion; of two times the later one stands.
func (o Ownership) Union(other Ownership) Ownership {
	return newOwnership(slices.Concat(o.entries, other.entries))
}

// Without is what managers own in o and not in other, by the same identity as in
// Union and field by field: a parent that o names stays when other names only what
// is below it, and what is below a field that other names stays as well. Entries of
// which nothing is left go; the times are those of o.
func (o Ownership) Without(other Ownership) Ownership {
	var rest Ownership
	for _, entry := range o.entries {
		at, has := slices.BinarySearchFunc(other.entries, entry.Manager, func(e Entry, m Manager) int { return e.Compare(m) })
		if has {
			entry.fields = entry.fields.Difference(other.entries[at].fields)
			if entry.fields.Empty() {
				continue
			}
		}
		rest.entries = append(rest.entries, entry)
	}
	return rest
}
