package setup

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Cache is how a manager caches what the reconcilers read: of the managed fields, ours
// and those of whoever shares a field with us; of the annotations, ours. Whoever may make
// an object decides how large the others are. Nothing that we write is taken from the
// cache: applies send what is emitted, and updates read live.
func Cache() cache.Options {
	// What the server made up an owner of, where managed fields were wiped, is taken back.
	keepOwn := fieldowners.KeepOwn(append(fieldmanagers.Names(), fieldowners.BeforeFirstApply)...)
	return cache.Options{
		// A reader without an informer is a watch that someone forgot to set up.
		ReaderFailOnMissingInformer: true,
		DefaultTransform: func(object any) (any, error) {
			if metadata, ok := object.(*metav1.PartialObjectMetadata); ok {
				return ownersOnly(metadata), nil
			}
			if object, ok := object.(metav1.Object); ok {
				object.SetAnnotations(ownAnnotations(object.GetAnnotations()))
			}
			return keepOwn(object)
		},
	}
}

// ownersOnly leaves of an object's metadata what the fight detector looks at, who owns
// what and whose it is; nobody else reads metadata alone. The rest is cached once, with the
// whole object.
func ownersOnly(object *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	object.Annotations, object.Labels, object.Finalizers = nil, nil, nil
	return object
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
