package fieldowners

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// KeepOwn returns a transform function for a cache (cache.TransformFunc of client-go, cache.Options.DefaultTransform
// of controller-runtime). The function keeps the managed fields entries of the given managers. It also keeps the
// entry of any other manager that owns a field together with a given manager. It drops all other entries, which
// often take half of the memory of a cache. If no managers are given, it drops all entries.
//
// Two managers own a field together if both entries name the field, or if one entry owns the field as a whole (an empty
// map, an atomic list) and the other entry owns a part of the field. If one of the two entries is malformed, or if their
// apiVersions differ, the entry of the other manager is kept.
//
// The transform function changes the object in place. The object may be typed, unstructured or metadata only. A
// value without metadata, such as a tombstone, is not changed. The function is idempotent and never fails.
//
// Readers of such a cache see all owners of a field only if a given manager owns the field. To see all owners of other
// fields, watch metadata with a second informer. Pass every field manager name that the program uses for applies or for
// the Extract functions of client-go's apply configurations. If the entry of a manager is dropped, Extract returns an
// empty configuration and no error, and an apply of this configuration would give up all fields. Never update an
// object from such a cache with the remaining managed fields: a partial list erases the other entries on the API
// server.
func KeepOwn(managers ...string) func(object any) (any, error) {
	managers = slices.Clone(managers)
	return func(object any) (any, error) {
		if v := reflect.ValueOf(object); v.Kind() == reflect.Pointer && v.IsNil() {
			return object, nil
		}
		if accessor, err := meta.Accessor(object); err == nil {
			entries := accessor.GetManagedFields()
			if kept := keepOwn(entries, managers); len(kept) < len(entries) {
				accessor.SetManagedFields(kept)
			}
		}
		return object, nil
	}
}

// keepOwn returns the entries that KeepOwn keeps, in a new slice.
func keepOwn(entries []metav1.ManagedFieldsEntry, managers []string) (kept []metav1.ManagedFieldsEntry) {
	var ours []Entry
	for _, raw := range entries {
		if slices.Contains(managers, raw.Manager) {
			our, _ := parseEntry(raw) // if the entry is malformed, our.fields is nil
			ours = append(ours, our)
		}
	}
	for _, raw := range entries {
		if slices.Contains(managers, raw.Manager) || len(ours) > 0 && mayShare(ours, raw) {
			kept = append(kept, raw)
		}
	}
	return kept
}

// mayShare reports whether the given raw entry and one of our entries may own a common field (see KeepOwn). It also returns
// true if their fields cannot be compared.
func mayShare(ours []Entry, raw metav1.ManagedFieldsEntry) bool {
	theirs, err := parseEntry(raw)
	return err != nil || slices.ContainsFunc(ours, func(our Entry) bool {
		return our.fields == nil || our.APIVersion != theirs.APIVersion || overlap(our.fields, theirs.fields)
	})
}

// overlap reports whether two managers own a field together (see KeepOwn). a and b are the fields of the two managers.
func overlap(a, b *fieldpath.Set) bool {
	return !a.Intersection(b).Empty() || covers(a, b) || covers(b, a)
}

// covers reports whether parts contains a leaf of whole, or a field below such a leaf.
func covers(whole, parts *fieldpath.Set) bool {
	return parts.RecursiveDifference(whole.Leaves()).Size() < parts.Size()
}
