package nodemaintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
)

// Reconciler does a NodeMaintenance, one wave for each reconcile. It does not use package
// reconciler, whose Emit returns all intents before the first write: here the next nodes depend
// on the results of those before.
type Reconciler struct {
	client   client.Reader // NodeMaintenances, from the cache
	live     client.Reader // nodes
	applying applying
	updating updating
	status   *update.Updater
	events   events.EventRecorder
}

const (
	// atOnce puts work back into the queue, behind that of others.
	atOnce = time.Nanosecond
	// later is the time until the next look at work that had nothing to record.
	later = time.Second
)

// Reconcile picks the nodes, or does a wave of them, and records that.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var work v1alpha1.NodeMaintenance
	if err := r.client.Get(ctx, request.NamespacedName, &work); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case work.DeletionTimestamp != nil, isComplete(&work) && isTold(&work):
		return reconcile.Result{}, nil
	case work.Annotations[reconciler.PausedAnnotation] == "true":
		logr.FromContextOrDiscard(ctx).Info("paused", "annotation", reconciler.PausedAnnotation)
		return reconcile.Result{}, nil
	}
	change, err := r.proceed(ctx, &work)
	if errors.Is(ctx.Err(), context.Canceled) { // the manager stops: the next one repeats the wave
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	ends := false // whether the write that landed, the last one, ended the work
	recorded, err := update.Status(ctx, r.status, &work, func(work *v1alpha1.NodeMaintenance) error {
		ended := work.Status.CompletionTime != nil
		err := change(work)
		ends = !ended && work.Status.CompletionTime != nil
		return err
	})
	switch {
	case apierrors.IsNotFound(err), errors.Is(err, apply.ErrUIDMismatch): // the NodeMaintenance is gone
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("status: %w", err)
	case isComplete(recorded.Object):
		if recorded.Changed && ends { // otherwise the event was recorded before, or by another manager
			r.tell(recorded.Object)
		}
		return reconcile.Result{}, nil
	}
	if !recorded.Changed { // the cache is behind, and its next event leads to another reconcile
		return reconcile.Result{RequeueAfter: later}, nil
	}
	return reconcile.Result{RequeueAfter: atOnce}, nil
}

// proceed does what is next, and returns the change of the status.
func (r *Reconciler) proceed(ctx context.Context, work *v1alpha1.NodeMaintenance) (func(*v1alpha1.NodeMaintenance) error, error) {
	switch {
	case isComplete(work):
		return func(work *v1alpha1.NodeMaintenance) error {
			if isComplete(work) {
				sayReady(work)
			}
			return nil
		}, nil
	case work.Status.StartTime == nil:
		return r.pick(ctx, work)
	}
	results := r.work(ctx, work)
	now := time.Now()
	return func(work *v1alpha1.NodeMaintenance) error { fold(work, results, now); return nil }, nil
}

// tell records an event of how the work ended. If the manager dies just before, there is no
// event, and the status has all of it.
func (r *Reconciler) tell(work *v1alpha1.NodeMaintenance) {
	end := meta.FindStatusCondition(work.Status.Conditions, v1alpha1.ConditionComplete)
	eventType := corev1.EventTypeWarning
	if end.Reason == succeeded {
		eventType = corev1.EventTypeNormal
	}
	r.events.Eventf(work, nil, eventType, end.Reason, string(work.Spec.Action), "%.256s (of %d nodes %d succeeded, %d failed)",
		end.Message, work.Status.Total, work.Status.Succeeded, work.Status.Failed)
}
