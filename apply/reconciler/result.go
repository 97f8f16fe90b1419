package reconciler

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
)

// conflictRetry is how long a rejected conflict waits for the other owner to let
// go when nothing that is watched says so: giving up a field changes no value.
const conflictRetry = time.Minute

// requeue says when to reconcile again after errors, see the package comment.
// The end of the context is no error: the manager stops.
func (r *Reconciler[P]) requeue(errs ...error) (reconcile.Result, error) {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil || errors.Is(err, context.Canceled) })
	err := errors.Join(errs...)
	retryable := (*apply.RetryableError)(nil)
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, apply.ErrConflict) }):
		return reconcile.Result{RequeueAfter: wait.Jitter(conflictRetry, 0.2)}, nil
	case errors.As(err, &retryable) && retryable.After > 0:
		return reconcile.Result{RequeueAfter: wait.Jitter(retryable.After, 0.2)}, nil
	}
	return reconcile.Result{}, err
}

// tell records events for conflicts, rejected and forced.
func (r *Reconciler[P]) tell(parent P, applied Applied) {
	if r.Events == nil {
		return
	}
	for _, err := range applied.Errs {
		if conflict := (*apply.ConflictError)(nil); errors.As(err, &conflict) {
			r.event(parent, corev1.EventTypeWarning, "OwnershipConflict", conflict.Error())
		}
	}
	for _, outcome := range applied.Outcomes {
		if outcome.Action == "" {
			continue
		}
		for _, conflict := range outcome.Conflicts {
			r.event(parent, corev1.EventTypeNormal, "OwnershipForced", "set "+conflict.String())
		}
	}
}

// noteLimit is what the events API allows, in bytes.
const noteLimit = 1024

func (r *Reconciler[P]) event(parent client.Object, eventType, reason, note string) {
	if len(note) > noteLimit {
		note = note[:noteLimit-len("…")] + "…"
	}
	r.Events.Eventf(parent, nil, eventType, reason, "Apply", "%s", note)
}
