package nodeset

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
)

// lookAgain is the time until the next round if the cache was not up to date: the event that
// updates it may be one that starts no round.
const lookAgain = time.Second

type nodeSets struct {
	client  client.Client // reads from the cache
	live    client.Reader
	applier *apply.Applier
	updater *update.Updater
	events  events.EventRecorder
}

// Reconcile is one round, see the package comment.
func (n nodeSets) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	seen, err := n.look(ctx, n.client, request.NamespacedName)
	if err != nil || !wantsPods(seen.set) {
		return reconciler.Requeue(ctx, client.IgnoreNotFound(err))
	}
	var pods corev1.PodList
	err = n.client.List(ctx, &pods, client.InNamespace(request.Namespace), client.MatchingFields{setIndex: request.Name})
	if err != nil {
		return reconciler.Requeue(ctx, err)
	}
	d := decide(seen.told(), pods.Items, time.Now())
	if !d.idle() {
		if still, err := n.stillSo(ctx, seen); err != nil || !still {
			return requeue(ctx, lookAgain, err)
		}
	}
	done := n.carryOut(ctx, seen.told(), d)
	err = n.writeStatus(ctx, seen, d, done)
	return requeue(ctx, done.after(d), append(done.errs, err)...)
}

// requeue is reconciler.Requeue, with another round after this time if that is sooner; 0 means
// none.
func requeue(ctx context.Context, after time.Duration, errs ...error) (reconcile.Result, error) {
	result, err := reconciler.Requeue(ctx, errs...)
	if err == nil && after > 0 && (result.RequeueAfter == 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	return result, err
}

func wantsPods(set *v1alpha1.NodeSet) bool {
	return set.DeletionTimestamp == nil && set.Annotations[reconciler.PausedAnnotation] != "true"
}
