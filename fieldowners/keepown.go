package fieldowners

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// KeepOwn returns a transform for a cache (cache.TransformFunc of client-go,
// cache.Options.DefaultTransform of controller-runtime). Of the managed fields it keeps the
// entries of these managers, and those of others that own a field which one of these owns as
// well. It drops the rest, often half of the memory of a cache. Without names it drops all
// entries.
//
// A field is shared if both entries name it, or if one of them owns as a whole what the other
// owns a part of: an empty map, an atomic list. Another manager's entry is also kept if this
// cannot be decided: if it is malformed or in another apiVersion, or if an entry of these
// managers is malformed.
//
// The transform changes the object in place, typed, unstructured or metadata only, and is
// idempotent. A value without metadata, such as a tombstone, passes as it is. It never fails.
//
// Readers of such a cache see the other owners of these managers' fields, and of no other
// fields: for those, watch metadata with a second informer. If a manager's entry is dropped,
// the Extract functions of client-go's apply configurations return an empty configuration
// without an error, and applying that gives up everything: name every manager that you extract
// for or apply as. Never update an object from such a cache with the managed fields that are
// left: a partial list erases the other entries on the server.
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

// keepOwn returns the entries of these managers, and the entries of others that share a field with
// them, in a new slice.
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

// mayShare reports whether an entry shares a field with one of ours, or cannot be judged.
func mayShare(ours []Entry, raw metav1.ManagedFieldsEntry) bool {
	theirs, err := parseEntry(raw)
	return err != nil || slices.ContainsFunc(ours, func(our Entry) bool {
		return our.APIVersion != theirs.APIVersion || // the same field may have another name in that version
			overlap(our.fields, theirs.fields)
	})
}

// overlap reports whether both sets have the same field, or one has a field as a whole of which
// the other has a part: a field without fields of the set below it means all below.
func overlap(a, b *fieldpath.Set) bool {
	return covers(a, b) || covers(b, a) || deeper(a, b)
}

// covers is overlap for one level.
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
