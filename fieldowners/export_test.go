package fieldowners

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// ManagedFields returns the ownership as metadata.managedFields has it: Parse makes the same ownership of it.
func (o Ownership) ManagedFields() ([]metav1.ManagedFieldsEntry, error) {
	var entries []metav1.ManagedFieldsEntry
	for _, entry := range o.entries {
		fields, err := entry.fields.ToJSON()
		if err != nil {
			return nil, fmt.Errorf("entry of %s: %w", entry.Manager, err)
		}
		raw := metav1.ManagedFieldsEntry{
			Manager: entry.Name, Operation: entry.Operation, Subresource: entry.Subresource, APIVersion: entry.APIVersion,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields)),
		}
		if !entry.Time.IsZero() {
			raw.Time = &metav1.Time{Time: entry.Time}
		}
		entries = append(entries, raw)
	}
	return entries, nil
}

// Equal reports whether both have the same entries with the same fields and times.
func (o Ownership) Equal(other Ownership) bool {
	return slices.EqualFunc(o.entries, other.entries, func(a, b Entry) bool {
		return a.sameEntry(b.Manager) && a.Time.Equal(b.Time) && a.fields.Equals(b.fields)
	})
}

// OwnershipOf returns the ownership with these entries.
func OwnershipOf(entries ...Entry) Ownership {
	all := slices.Clone(entries)
	for i := range all {
		if all[i].fields == nil { // the zero Entry
			all[i].fields = fieldpath.NewSet()
		}
	}
	return newOwnership(all)
}

// EqualValues is how Changes compares values.
var EqualValues = equalValues
