package arms

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// gmuCached begins with what the cache has, and writes nothing if that is as it should be. It modifies the object that
// it was given without copying it, which is safe for as long as the cache gives copies.
func gmuCached(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		c := s.Client(intent.Manager)
		reader := s.Cache
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			object, err := read(ctx, reader, intent)
			if err != nil {
				return err
			}
			reader = client.Reader(c) // the cache would give the stale object again
			before := object.DeepCopy()
			if err := intent.Modify(object); err != nil {
				return err
			}
			if equality.Semantic.DeepEqual(before, object) {
				receipt = compare.Receipt{Skipped: true}
				return nil
			}
			receipt, err = put(ctx, c, intent, object)
			return err
		})
		return receipt, err
	}
}
