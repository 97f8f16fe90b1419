package setup

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Cache returns how a manager caches what the reconcilers read: our own managed fields, as many
// of those of others as there is room for, and our own annotations. Whoever may create an
// object decides how large the rest is. Nothing that we write comes from the cache: applies
// send what is emitted, and updates read live.
func Cache() cache.Options {
	// What the server made up an owner of, where managed fields were wiped, is taken back.
	ours := fieldmanagers.All().Managers()
	keepOwn := fieldowners.KeepOwn(append(slices.Clone(ours), fieldowners.BeforeFirstApply)...)
	return cache.Options{
		// A reader without an informer is a watch that someone forgot to set up.
		ReaderFailOnMissingInformer: true,
		DefaultTransform: func(object any) (any, error) {
			if metadata, ok := object.(*metav1.PartialObjectMetadata); ok {
				return ownersOnly(metadata, ours), nil
			}
			if object, ok := object.(metav1.Object); ok {
				object.SetAnnotations(ownAnnotations(object.GetAnnotations()))
				boundForeign(object, ours)
			}
			return keepOwn(object)
		},
	}
}

// ownersOnly keeps of an object's metadata what the fight detector needs: managed fields and
// owner references. Nothing else reads metadata alone; the whole object is cached once.
func ownersOnly(object *metav1.PartialObjectMetadata, ours []string) *metav1.PartialObjectMetadata {
	object.Annotations, object.Labels, object.Finalizers = nil, nil, nil
	boundForeign(object, ours)
	return object
}

// maxForeign is how many bytes of an object's managed fields are cached that are not ours.
// Thirty managers of a large Deployment have as much.
const maxForeign = 64 << 10

// boundForeign drops the largest foreign entries of an object until the rest fits. Whoever
// may apply may have as many managers as an object has room for, in etcd 1.5 MiB. What is
// dropped is not seen by the fight detector, and is not told as shared.
func boundForeign(object metav1.Object, ours []string) {
	entries := object.GetManagedFields()
	var foreign []int
	size := 0
	for i := range entries {
		if !slices.Contains(ours, entries[i].Manager) {
			foreign = append(foreign, i)
			size += entries[i].Size()
		}
	}
	if size <= maxForeign {
		return
	}
	slices.SortStableFunc(foreign, func(a, b int) int { return cmp.Compare(entries[b].Size(), entries[a].Size()) })
	drop := make([]bool, len(entries))
	for _, i := range foreign {
		if size <= maxForeign {
			break
		}
		drop[i] = true
		size -= entries[i].Size()
	}
	kept := make([]metav1.ManagedFieldsEntry, 0, len(entries)) // of its own, so that the memory of the rest is free
	for i := range entries {
		if !drop[i] {
			kept = append(kept, entries[i])
		}
	}
	object.SetManagedFields(slices.Clip(kept))
}

// ownAnnotations are those of a domain of ours; an intent sets no other. They are in a map
// of their own, so that the memory of the rest is free.
func ownAnnotations(annotations map[string]string) map[string]string {
	var own map[string]string
	for key, value := range annotations {
		if domain, _, ok := strings.Cut(key, "/"); ok && (domain == ourDomain || strings.HasSuffix(domain, "."+ourDomain)) {
			if own == nil {
				own = map[string]string{}
			}
			own[key] = value
		}
	}
	return own
}

const ourDomain = "coapply.dev"
