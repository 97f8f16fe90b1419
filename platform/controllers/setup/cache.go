package setup

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"coapply.dev/fieldowners"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// Cache returns the cache options of the platform's managers. They limit the annotations and managed fields of cached
// objects, because any client could make these parts large. A cached object keeps the annotations of the domain
// coapply.dev and the managed fields of the platform's field managers. The entry of another field manager is kept if
// the entry shares a field with the platform and is not dropped by boundForeign. No write sends data from the cache:
// an apply sends a computed apply configuration, and an update reads live.
func Cache() cache.Options {
	ours := fieldmanagers.All().Managers()
	keepOwn := fieldowners.KeepOwn(ours...)
	return cache.Options{
		// If a reconciler reads a kind that has no informer, a watch of this kind is missing. This is a bug, so the read fails.
		ReaderFailOnMissingInformer: true,
		DefaultTransform: func(object any) (any, error) {
			if object, ok := object.(metav1.Object); ok {
				object.SetAnnotations(ownAnnotations(object.GetAnnotations()))
				boundForeign(object, ours)
			}
			return keepOwn(object)
		},
	}
}

// maxForeign is the maximum size, in bytes, of the managed fields of other field managers in a
// cached object. It suffices for about thirty field managers of a large Deployment.
const maxForeign = 64 << 10

// boundForeign limits the managed fields of other field managers to maxForeign bytes, by dropping the
// largest entries. A client may apply under many field managers, until the object reaches its limit
// of 1.5 MiB. Dropped entries cannot be reported as owners that share fields with the platform.
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
	kept := make([]metav1.ManagedFieldsEntry, 0, len(entries)) // a new slice, so that the dropped entries' memory is freed
	for i := range entries {
		if !drop[i] {
			kept = append(kept, entries[i])
		}
	}
	object.SetManagedFields(slices.Clip(kept))
}

// ownAnnotations returns the annotations whose keys have the domain coapply.dev or a subdomain of it. The platform
// sets only such annotations. The result is a new map, so that the memory of the other annotations is freed.
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
