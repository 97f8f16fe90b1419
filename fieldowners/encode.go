package fieldowners

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ManagedFields returns the ownership as metadata.managedFields has it, in the order
// of Entries: Parse makes the same ownership of it. A manager that owns nothing
// keeps its entry.
//
// It is for files and tests. To change the managed fields of an object on a
// server, let a Transfer rewrite them: that leaves what it does not concern as it
// was, to the byte.
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
