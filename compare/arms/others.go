package arms

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"coapply.dev/compare"
)

// createOrUpdate is controller-runtime's; it does not retry.
func createOrUpdate(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		if intent.Subresource != "" {
			return compare.Receipt{}, fmt.Errorf("create-or-update: CreateOrUpdate does not write %s; leave the arm out", intent.Subresource)
		}
		c := client.WithFieldOwner(s.Client(intent.Manager), intent.Manager)
		object := named(intent)
		result, err := controllerutil.CreateOrUpdate(ctx, c, object, func() error {
			if err := intent.Pause(ctx); err != nil {
				return err
			}
			return intent.Modify(object)
		})
		if err == nil && result == controllerutil.OperationResultNone {
			return compare.Receipt{Skipped: true}, nil
		}
		return compare.Receipt{ResourceVersion: object.GetResourceVersion()}, err
	}
}

// mergePatch sends the difference between what it read and what it wants. Nothing tells it that the object changed in
// between: a list is replaced as a whole.
func mergePatch(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (compare.Receipt, error) {
		c := s.Client(intent.Manager)
		object, err := read(ctx, c, intent)
		if err != nil {
			return compare.Receipt{}, err
		}
		before := object.DeepCopy()
		if err := intent.Modify(object); err != nil {
			return compare.Receipt{}, err
		}
		if object.GetUID() == "" {
			return put(ctx, c, intent, object)
		}
		return patch(ctx, c, intent, object, client.MergeFrom(before))
	}
}

// mergePatchRV puts the resourceVersion that it read into the patch, and retries stale writes.
func mergePatchRV(s compare.Session) writer {
	return func(ctx context.Context, intent compare.Intent) (receipt compare.Receipt, err error) {
		c := s.Client(intent.Manager)
		err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
			object, err := read(ctx, c, intent)
			if err != nil {
				return err
			}
			before := object.DeepCopy()
			if err := intent.Modify(object); err != nil {
				return err
			}
			if object.GetUID() == "" {
				receipt, err = put(ctx, c, intent, object)
				return err
			}
			guarded := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
			receipt, err = patch(ctx, c, intent, object, guarded)
			return err
		})
		return receipt, err
	}
}

// others are the ways without Server-Side Apply that are no plain get-modify-update.
func others() []compare.Arm {
	return []compare.Arm{
		{
			Name: "three-way-merge", Summary: "three-way merge patch without resourceVersion, as client-side kubectl apply",
			Source: source("threeWayMerge", "lastApplied"), New: made(threeWayMerge),
		},
		{
			Name: "create-or-update", Summary: "controller-runtime's CreateOrUpdate; no retry",
			Source: source("createOrUpdate"), New: made(createOrUpdate),
		},
		{
			Name: "merge-patch", Summary: "get, modify, merge patch without resourceVersion",
			Source: source("mergePatch"), New: made(mergePatch),
		},
		{
			Name: "merge-patch-rv", Summary: "get, modify, merge patch with resourceVersion (DefaultRetry)",
			Source: source("mergePatchRV"), New: made(mergePatchRV),
		},
	}
}
