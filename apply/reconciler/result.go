package reconciler

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-logr/logr"
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
// Where each of them says how long to wait, the longest wait that the server asked
// for decides, or else that of a conflict; otherwise the rate limiter does,
// and no error is lost.
func requeue(ctx context.Context, errs ...error) (reconcile.Result, error) {
	err := errors.Join(errs...)
	if err == nil {
		return reconcile.Result{}, nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return reconcile.Result{}, nil // the manager stops
	}
	var asked, conflict time.Duration
	for _, one := range errs {
		retryable := (*apply.RetryableError)(nil)
		switch {
		case one == nil:
		case errors.Is(one, apply.ErrConflict):
			conflict = conflictRetry
		case errors.As(one, &retryable) && retryable.After > 0:
			asked = max(asked, retryable.After)
		default:
			return reconcile.Result{}, err
		}
	}
	after := wait.Jitter(cmp.Or(asked, conflict), 0.2)
	logr.FromContextOrDiscard(ctx).Info("not all of it stands", "error", err.Error(), "retryAfter", after)
	return reconcile.Result{RequeueAfter: after}, nil
}

// tell records events for conflicts, rejected and settled, and for what was pruned
// and what was not. What is settled as before is not told again.
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
			if done, ok := settled[conflict.Decision]; ok && !conflict.Remembered {
				r.event(parent, corev1.EventTypeNormal, done.reason, done.what+" "+conflict.String())
			}
		}
	}
	for _, object := range applied.Pruned.Deleted {
		r.event(parent, corev1.EventTypeNormal, "Pruned", "deleted "+object.String()+", which is emitted no longer")
	}
	for _, kept := range applied.Pruned.Kept {
		r.event(parent, corev1.EventTypeWarning, "NotPruned", kept.String())
	}
}

// settled are the decisions by which an intent lands.
var settled = map[apply.Decision]struct{ reason, what string }{
	apply.Force:      {"OwnershipForced", "set"},
	apply.Relinquish: {"OwnershipRelinquished", "did not set"},
	apply.Share:      {"OwnershipShared", "shares the value, and did not set"},
}

// noteLimit is what the events API allows, in bytes.
const noteLimit = 1024

func (r *Reconciler[P]) event(parent client.Object, eventType, reason, note string) {
	if len(note) > noteLimit {
		// A character cut in two would be replaced on the way, by a longer one.
		note = strings.ToValidUTF8(note[:noteLimit-len("…")], "") + "…"
	}
	r.Events.Eventf(parent, nil, eventType, reason, "Apply", "%s", note)
}
