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

// Cache returns the cache options of a manager: objects are cached with our own managed fields,
// those of others up to maxForeign, and our own annotations, as whoever may create an object
// decides how large the rest is. Nothing that we write comes from the cache: applies send what
// is emitted, and updates read live.
func Cache() cache.Options {
	ours := fieldmanagers.All().Managers()
	keepOwn := fieldowners.KeepOwn(ours...)
	return cache.Options{
		// A read without an informer means that somebody forgot to set up a watch.
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

// maxForeign is how many bytes of others' managed fields are cached for an object: about those
// of thirty managers of a large Deployment.
const maxForeign = 64 << 10

// boundForeign drops the largest entries of others until the rest fits maxForeign, as somebody
// may apply under as many names as an object has room for, which is 1.5 MiB. Dropped entries
// are not reported as sharing fields.
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
	kept := make([]metav1.ManagedFieldsEntry, 0, len(entries)) // a new slice, so that the memory of the rest is freed
	for i := range entries {
		if !drop[i] {
			kept = append(kept, entries[i])
		}
	}
	object.SetManagedFields(slices.Clip(kept))
}

// ownAnnotations returns the annotations of our domains; intents set no others. They are in a
// new map, so that the memory of the rest is freed.
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
