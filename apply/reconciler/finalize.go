package reconciler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/update"
)

// finalize handles a parent that is being deleted. It calls Config.Cleanup and, with Prune, deletes the members of the
// parent's set. When both are done, it removes the finalizer.
func (r *Reconciler[P]) finalize(ctx context.Context, parent P) (reconcile.Result, error) {
	if !slices.Contains(parent.GetFinalizers(), r.Finalizer) {
		return reconcile.Result{}, nil // the finalizer was removed before, or nothing was ever applied for the parent
	}
	if r.Cleanup != nil {
		if done, err := r.Cleanup(ctx, parent); err != nil || !done {
			return r.requeueDeleted(ctx, parent, err)
		}
	}
	if r.sets != nil {
		if done, result, err := r.deleteMembers(ctx, parent); !done {
			return result, err
		}
	}
	_, err := update.RemoveFinalizer(ctx, r.Updater, parent, r.Finalizer)
	if err == nil { // the cache may have the parent with its finalizer for a while: Cleanup is not called again for this parent
		r.deleted.Put(parent.GetUID(), struct{}{})
	}
	return r.requeueDeleted(ctx, parent, err)
}

// requeueDeleted calls requeue with the errors that occurred while a parent was being deleted.
func (r *Reconciler[P]) requeueDeleted(ctx context.Context, parent P, errs ...error) (reconcile.Result, error) {
	isNew, since := r.news.about(trouble{parent.GetUID(), "deletion"}, errs...)
	return requeue(ctx, isNew, since, errs...)
}

func (r *Reconciler[P]) deleteMembers(ctx context.Context, parent P) (done bool, result reconcile.Result, err error) {
	pruned, done, err := r.sets.Delete(ctx, parent)
	r.tell(parent, Applied{Pruned: pruned}, false)
	several := (*applyset.PruneError)(nil)
	switch {
	case errors.As(err, &several):
		result, err = r.requeueDeleted(ctx, parent, several.Errs...) // the wait before the retry depends on each of the errors
	case errors.Is(err, apply.ErrUIDMismatch):
		return false, reconcile.Result{}, nil // the parent no longer exists, so it has no finalizer to remove
	case err != nil:
		result, err = r.requeueDeleted(ctx, parent, err)
	case !done:
		result.RequeueAfter = lookAgain(parent.GetDeletionTimestamp().Time)
		logr.FromContextOrDiscard(ctx).Info("waiting for the members of the parent's ApplySet to be deleted",
			"left", len(pruned.Left), "first", pruned.Left[0].String(), "retryAfter", result.RequeueAfter)
	}
	return done, result, err
}

// lookAgain returns the wait until the next reconcile of a parent whose members are being deleted and still exist,
// for example because they have finalizers. If the members are not watched, no event reports that they are gone. The
// wait grows with the time since the deletion of the parent, from a second to a minute.
func lookAgain(deleted time.Time) time.Duration {
	const least, most = time.Second, time.Minute
	return wait.Jitter(min(max(time.Since(deleted)/4, least), most), 0.2)
}
