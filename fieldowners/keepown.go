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
// Two managers own a field together if both entries name the field. They also own a field together if one entry owns
// the field as a whole (an empty map, an atomic list) and the other entry owns a part of the field. If one of the
// two entries is malformed, or if their apiVersions differ, the entry of the other manager is kept.
//
// The transform function changes the object in place. The object may be typed, unstructured or metadata only. A
// value without metadata, such as a tombstone, is not changed. The function is idempotent and never fails.
//
// Readers of such a cache see owners only of the fields that the given managers own. To see all owners, watch
// metadata with a second informer. Pass every field manager under whose name the program applies or calls the
// Extract functions of client-go's apply configurations. If the entry of a manager is dropped, Extract returns an
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

// keepOwn returns, in a new slice, the entries of the given managers, and the entries of other managers
// that may own a field which a given manager owns as well.
func keepOwn(entries []metav1.ManagedFieldsEntry, managers []string) (kept []metav1.ManagedFieldsEntry) {
	var ours []Entry
	malformed := false
	for _, raw := range entries {
		if slices.Contains(managers, raw.Manager) {
			entry, err := parseEntry(raw)
			ours, malformed = append(ours, entry), malformed || err != nil
		}
	}
	for _, raw := range entries {
		if slices.Contains(managers, raw.Manager) || len(ours) > 0 && (malformed || mayShare(ours, raw)) {
			kept = append(kept, raw)
		}
	}
	return kept
}

// mayShare reports whether the given raw entry and one of our entries own the same field. It also returns true if
// the raw entry is malformed or if the apiVersions differ, because the fields cannot be compared then.
func mayShare(ours []Entry, raw metav1.ManagedFieldsEntry) bool {
	theirs, err := parseEntry(raw)
	return err != nil || slices.ContainsFunc(ours, func(our Entry) bool {
		return our.APIVersion != theirs.APIVersion || // a field may have another name in another version
			overlap(our.fields, theirs.fields)
	})
}

// overlap reports whether both sets contain the same field, or whether one set contains a field as a
// whole and the other set contains a field below it. A set contains a field as a whole if it contains
// the field but no field below.
func overlap(a, b *fieldpath.Set) bool {
	return covers(a, b) || covers(b, a) || deeper(a, b)
}

// covers reports whether the sets overlap in a top-level field of the first set. The second set must contain the
// same field, or the first set must contain the field as a whole and the second set a field below it.
func covers(a, b *fieldpath.Set) (found bool) {
	a.Members.Iterate(func(name fieldpath.PathElement) {
		if found || b.Members.Has(name) {
			found = true
			return
		}
		_, parts := a.Children.Get(name)
		_, theirs := b.Children.Get(name)
		found = theirs && !parts
	})
	return found
}

// deeper reports whether the two sets overlap in fields below a common top-level field.
func deeper(a, b *fieldpath.Set) (found bool) {
	a.Children.Iterate(func(name fieldpath.PathElement) {
		if found {
			return
		}
		if below, ok := b.Children.Get(name); ok {
			own, _ := a.Children.Get(name)
			found = overlap(own, below)
		}
	})
	return found
}
