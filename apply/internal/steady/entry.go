package steady

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// ownEntry returns the managed fields entry of the request's manager. It returns nil if the manager has several
// entries, or if the entry has no fields or another apiVersion than the request. If the manager has no entry, ownEntry
// returns an empty entry for a response of the API server, because the manager owns no field, and nil for other reads.
func (r Request) ownEntry(read Read) *metav1.ManagedFieldsEntry {
	var own *metav1.ManagedFieldsEntry
	entries := read.GetManagedFields()
	for i := range entries {
		if !r.isOwn(entries[i]) {
			continue
		}
		if own != nil {
			return nil
		}
		own = &entries[i]
	}
	if own == nil && read.Answer {
		return &metav1.ManagedFieldsEntry{}
	}
	if own == nil || own.FieldsV1 == nil || own.APIVersion != r.Kind.GroupVersion().String() {
		return nil
	}
	return own
}

func (r Request) isOwn(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == r.Manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == r.Subresource
}

func parseFields(entry *metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return set, nil
	}
	err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes()))
	return set, err
}

// fieldsOf returns the set of fields that the API server would store in the managed fields for an applied value.
func fieldsOf(applied *typed.TypedValue) (*fieldpath.Set, error) {
	set, err := applied.ToFieldSet()
	if err != nil {
		return nil, err
	}
	return set.Difference(neverOwned), nil
}

// neverOwned are the fields that have no owner: the API server removes them from every managed fields entry.
var neverOwned = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "creationTimestamp"),
	fieldpath.MakePathOrDie("metadata", "selfLink"),
	fieldpath.MakePathOrDie("metadata", "uid"),
	fieldpath.MakePathOrDie("metadata", "clusterName"),
	fieldpath.MakePathOrDie("metadata", "generation"),
	fieldpath.MakePathOrDie("metadata", "managedFields"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)
