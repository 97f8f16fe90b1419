package setup

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Cache is how a manager caches what the reconcilers read: of the managed fields, ours
// and those of whoever shares a field with us. Metadata keeps all of them, as the fight
// detector has to see who else owns what, and nobody else reads metadata alone.
func Cache() cache.Options {
	// What the server made up an owner of, where managed fields were wiped, is taken back.
	keepOwn := fieldowners.KeepOwn(append(fieldmanagers.Names(), fieldowners.BeforeFirstApply)...)
	return cache.Options{
		// A reader without an informer is a watch that someone forgot to set up.
		ReaderFailOnMissingInformer: true,
		DefaultTransform: func(object any) (any, error) {
			if _, ok := object.(*metav1.PartialObjectMetadata); ok {
				return object, nil
			}
			return keepOwn(object)
		},
	}
}
