package nodemaintenance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// The length of a wave. Nodes that are not done by then stay Pending and go on in the next one.
const (
	lastAttempt = 10 * time.Second // no attempt begins after this time
	waveLimit   = 45 * time.Second // attempts under way end then
	// lastChance is for a node whose deadline passed while nobody worked on it.
	lastChance = 5 * time.Second
)

// outcome is the result of a node in one wave.
type outcome struct {
	attempts int
	err      error
	final    bool // no further attempt helps
}

// work does the nodes of a wave side by side, and returns when all have ended.
func (r *Reconciler) work(ctx context.Context, work *v1alpha1.NodeMaintenance) []v1alpha1.NodeStatus {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, limit(ctx, begun))
	defer cancel()
	nodes := wave(work)
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() { nodes[i] = r.one(ctx, work, nodes[i], begun) })
	}
	all.Wait()
	return nodes
}

// limit returns the time for a wave, which leaves a quarter of the reconcile's time to write
// the status.
func limit(ctx context.Context, now time.Time) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(waveLimit, end.Sub(now)*3/4)
	}
	return waveLimit
}

// one does one node, until its deadline.
func (r *Reconciler) one(ctx context.Context, work *v1alpha1.NodeMaintenance, node v1alpha1.NodeStatus, begun time.Time) v1alpha1.NodeStatus {
	node = notAhead(node, begun)
	deadline := deadlineOf(node, work.Spec.NodeDeadlineSeconds, begun)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var done outcome
	if work.Spec.Strategy == v1alpha1.StrategyUpdate {
		done = r.updating.do(ctx, work, node.Name)
	} else {
		done = r.applying.do(ctx, work, node.Name, begun.Add(lastAttempt))
	}
	late := !time.Now().Before(deadline)
	node = settle(node, done, late, work)
	logr.FromContextOrDiscard(ctx).Info("worked on a node", "node", node.Name, "action", work.Spec.Action,
		"strategy", work.Spec.Strategy, "result", node.Result, "attempt", node.Attempts, "error", node.Error)
	return node
}

// notAhead returns the node with a turn that begins now if it is in the future, by the clock of
// a manager that is ahead of ours: otherwise its deadline would be later by as much.
func notAhead(node v1alpha1.NodeStatus, begun time.Time) v1alpha1.NodeStatus {
	if node.StartTime.After(begun) {
		node.StartTime = &metav1.MicroTime{Time: begun}
	}
	return node
}

// deadlineOf returns the deadline of a node, counted from the time at which its turn came, in
// this wave or an earlier one.
func deadlineOf(node v1alpha1.NodeStatus, seconds int32, begun time.Time) time.Time {
	deadline := node.StartTime.Add(time.Duration(seconds) * time.Second)
	if deadline.After(begun) {
		return deadline
	}
	return begun.Add(lastChance)
}

// settle returns the status of a node after a wave.
func settle(node v1alpha1.NodeStatus, done outcome, late bool, work *v1alpha1.NodeMaintenance) v1alpha1.NodeStatus {
	node.Attempts += int32(done.attempts)
	switch {
	case done.err == nil:
		node.Result, node.Error = v1alpha1.NodeSucceeded, ""
		return node
	case done.final:
		node.Result, node.Error = v1alpha1.NodeFailed, done.err.Error()
	case late:
		node.Result = v1alpha1.NodeFailed
		node.Error = fmt.Sprintf("not done within %d s, after %d attempts; last error: %v",
			work.Spec.NodeDeadlineSeconds, node.Attempts, done.err)
	default:
		node.Error = done.err.Error()
	}
	node.Error = shortened(node.Error, len(work.Status.Nodes))
	return node
}

// shortened cuts an error so that a status whose nodes all failed stays below etcd's limit of
// 1.5 MB: a thousand nodes with the longest names take 1.2 MB without errors.
func shortened(text string, nodes int) string {
	const most, together = 400, 200_000
	limit := min(most, together/max(nodes, 1))
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
