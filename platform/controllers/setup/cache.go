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

// Cache returns the cache options of a manager, which limit the size of cached objects. A cached
// object keeps our managed fields, at most maxForeign bytes of other managers' managed fields, and
// our annotations. The rest is dropped, because any client could make it large. No write sends data
// from the cache: an apply sends the emitted intent, and an update reads live.
func Cache() cache.Options {
	ours := fieldmanagers.All().Managers()
	keepOwn := fieldowners.KeepOwn(ours...)
	return cache.Options{
		// A read of a kind without an informer is a bug: a watch of this kind is missing.
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

// maxForeign is the largest total size, in bytes, of other managers' managed fields in a cached
// object: enough for about thirty managers of a large Deployment.
const maxForeign = 64 << 10

// boundForeign drops the largest managed fields entries of other managers until the remaining
// entries fit into maxForeign. A client may apply under many manager names, up to the object's
// limit of 1.5 MiB. The managers of dropped entries are not reported as sharing fields.
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

// ownAnnotations returns the annotations whose keys have the domain coapply.dev or a subdomain.
// Intents set no others. It returns a new map, so that the memory of the other annotations is freed.
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
