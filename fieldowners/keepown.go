package fieldowners

import (
	"encoding/json"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	own := func(manager string) bool { return slices.Contains(managers, manager) }
	return func(object any) (any, error) {
		if fields, ok := object.(*unstructured.Unstructured); ok {
			keepOwnUnstructured(fields, own)
			return object, nil
		}
		if v := reflect.ValueOf(object); v.Kind() == reflect.Pointer && v.IsNil() {
			return object, nil
		}
		if accessor, err := meta.Accessor(object); err == nil {
			keepOwnTyped(accessor, own)
		}
		return object, nil
	}
}

func keepOwnTyped(object metav1.Object, own func(manager string) bool) {
	entries := object.GetManagedFields()
	kept := keepOwn(entries,
		func(entry metav1.ManagedFieldsEntry) bool { return own(entry.Manager) },
		func(entry metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry { return entry })
	if len(kept) < len(entries) {
		object.SetManagedFields(kept)
	}
}

// keepOwnUnstructured keeps entries in their unstructured form, malformed ones included. They
// are converted to typed entries only if sharing has to be judged, as that costs more than all
// else.
func keepOwnUnstructured(object *unstructured.Unstructured, own func(manager string) bool) {
	if object == nil {
		return
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	kept := keepOwn(entries, func(entry any) bool {
		fields, _ := entry.(map[string]any)
		manager, _ := fields["manager"].(string)
		return own(manager)
	}, typedEntry)
	switch {
	case len(kept) == len(entries):
	case len(kept) == 0:
		delete(metadata, "managedFields")
	default:
		metadata["managedFields"] = kept
	}
}

// typedEntry returns the parts of an entry that are needed to judge what it shares.
func typedEntry(entry any) metav1.ManagedFieldsEntry {
	fields, _ := entry.(map[string]any)
	var typed metav1.ManagedFieldsEntry
	typed.APIVersion, _ = fields["apiVersion"].(string)
	typed.FieldsType, _ = fields["fieldsType"].(string)
	raw, _ := json.Marshal(fields["fieldsV1"]) // what was read as JSON can be written as JSON
	typed.FieldsV1 = metav1.NewFieldsV1(string(raw))
	return typed
}

// keepOwn returns the entries to keep: in a new slice, so that the memory of the others is
// freed; entries itself if all are kept; nil if none is. read is called only if some entries
// are ours and some are not.
func keepOwn[T any](entries []T, own func(T) bool, read func(T) metav1.ManagedFieldsEntry) []T {
	keep := make([]bool, len(entries))
	n := 0
	for i, entry := range entries {
		if keep[i] = own(entry); keep[i] {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	if n < len(entries) {
		n += keepSharing(entries, keep, read)
	}
	if n == len(entries) {
		return entries
	}
	kept := make([]T, 0, n)
	for i, entry := range entries {
		if keep[i] {
			kept = append(kept, entry)
		}
	}
	return kept
}

// keepSharing marks in keep the entries that share a field with those kept already, and returns
// how many it added.
func keepSharing[T any](entries []T, keep []bool, read func(T) metav1.ManagedFieldsEntry) (added int) {
	ours := make([]metav1.ManagedFieldsEntry, 0, len(entries))
	for i, entry := range entries {
		if keep[i] {
			ours = append(ours, read(entry))
		}
	}
	shared := &sharing{ours: ours}
	for i, entry := range entries {
		if !keep[i] && shared.with(read(entry)) {
			keep[i] = true
			added++
		}
	}
	return added
}

// sharing decides which entries share a field with ours.
type sharing struct {
	ours []metav1.ManagedFieldsEntry
	sets []*fieldpath.Set
}

// with reports whether an entry shares a field with one of ours, or cannot be judged.
func (s *sharing) with(theirs metav1.ManagedFieldsEntry) bool {
	for _, our := range s.ours {
		if our.APIVersion != theirs.APIVersion {
			return true // the same field may have another name in that version
		}
	}
	entry, err := parseEntry(theirs)
	if err != nil || !s.parse() {
		return true
	}
	return slices.ContainsFunc(s.sets, func(our *fieldpath.Set) bool { return overlap(our, entry.fields) })
}

// parse reads our own entries, once. It returns false if one of them is malformed.
func (s *sharing) parse() bool {
	for len(s.sets) < len(s.ours) {
		entry, err := parseEntry(s.ours[len(s.sets)])
		if err != nil {
			return false
		}
		s.sets = append(s.sets, entry.fields)
	}
	return true
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
