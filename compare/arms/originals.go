package arms

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// naive makes one attempt to write and does not retry. For a set of pods, it reads the pods from the cache and
// creates or deletes pods to reach Intent.Replicas. It may repeat earlier writes that the cache does not show yet.
func naive(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		if intent.Modify != nil { // an intent for a single object
			return getModifyUpdate(ctx, s, intent)
		}
		pods, err := listPods(ctx, s.Cache, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		c := s.Client(intent.Manager)
		for range intent.Replicas - len(pods) {
			if err := c.Create(ctx, newPod(intent), client.FieldOwner(intent.Manager)); err != nil {
				return compare.Receipt{}, err
			}
		}
		for i := range len(pods) - intent.Replicas {
			if err := client.IgnoreNotFound(c.Delete(ctx, &pods[i])); err != nil {
				return compare.Receipt{}, err
			}
		}
		return compare.Receipt{Skipped: len(pods) == intent.Replicas}, nil
	}
}
