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

// originals returns the arms that write like existing systems.
func originals() []compare.Arm {
	return []compare.Arm{
		{
			Name: "naive", Summary: "get, modify, update without a retry; for a set of pods, creates or deletes the difference to the number in the cache",
			Cached: true, Whole: true,
			Source: source("naive", "getModifyUpdate", "listPods"), New: madeWithCache(naive),
		},
		{
			Name: "expectations", Summary: "like naive, but writes to a set of pods only when the cache shows all earlier writes",
			Cached: true, Whole: true,
			Source: source("withExpectations", "expectations", "expectation", "listPods"), New: madeWithCache(withExpectations),
		},
		{
			Name: "gmu-replace", Summary: "like gmu-default-retry, but replaces a whole part of the object, such as status: a mistake that loses updates",
			Source: source("gmuReplace"), New: made(gmuReplace),
		},
		{
			Name: "gmu-exponential", Summary: "get-modify-update, 4 attempts with waits of 100, 200 and 400 ms",
			Source: source("gmuExponential", "getModifyUpdate"), New: made(gmuExponential),
		},
	}
}
