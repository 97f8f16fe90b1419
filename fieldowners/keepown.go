package fieldowners

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// KeepOwn gives a transform for a cache (cache.TransformFunc of client-go,
// cache.Options.DefaultTransform of controller-runtime). It drops the managed
// fields of all managers but these from the objects that the cache keeps, which is
// often half of their memory. Without names it drops all.
//
// The transform changes the object in place, typed, unstructured or metadata only;
// the same again changes nothing. What has no metadata, such as a tombstone, passes
// as it is. It never fails.
//
// What reads such a cache does not see who else owns a field: whoever looks for
// foreign owners reads metadata through a second informer. With no entry left of a
// manager, the Extract functions of client-go's apply configurations give an empty
// configuration without an error, and to apply that gives up everything: name
// every manager that you extract for or apply as. An object must never be updated
// from such a cache with the managed fields that are left: a partial list erases
// the other entries on the server.
func KeepOwn(managers ...string) func(object any) (any, error) {
	managers = slices.Clone(managers)
	own := func(manager string) bool { return slices.Contains(managers, manager) }
	ownEntry := func(entry metav1.ManagedFieldsEntry) bool { return own(entry.Manager) }
	return func(object any) (any, error) {
		if fields, ok := object.(*unstructured.Unstructured); ok {
			keepOwnUnstructured(fields, own)
			return object, nil
		}
		if v := reflect.ValueOf(object); v.Kind() == reflect.Pointer && v.IsNil() {
			return object, nil
		}
		if accessor, err := meta.Accessor(object); err == nil {
			entries := accessor.GetManagedFields()
			kept := only(entries, ownEntry)
			if len(kept) < len(entries) {
				accessor.SetManagedFields(kept)
			}
		}
		return object, nil
	}
}

// keepOwnUnstructured leaves the entries in the form that they are in, malformed
// ones included: making them typed and back costs more than all else.
func keepOwnUnstructured(object *unstructured.Unstructured, own func(string) bool) {
	if object == nil {
		return
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	kept := only(entries, func(entry any) bool {
		fields, _ := entry.(map[string]any)
		manager, _ := fields["manager"].(string)
		return own(manager)
	})
	switch {
	case len(kept) == len(entries):
	case len(kept) == 0:
		delete(metadata, "managedFields")
	default:
		metadata["managedFields"] = kept
	}
}

// only gives a slice of its own, so that the memory of the rest is free, unless
// there is no rest; nil when nothing is left.
func only[T any](all []T, keep func(T) bool) []T {
	n := 0
	for _, one := range all {
		if keep(one) {
			n++
		}
	}
	switch n {
	case len(all):
		return all
	case 0:
		return nil
	}
	kept := make([]T, 0, n)
	for _, one := range all {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}
