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

// Reconciler is the reconciler of NodeMaintenances. One reconcile works on one wave: the nodes that
// are written to at the same time. Package reconciler is not used, because it computes all writes of
// a reconcile in advance. Here the nodes of the next wave depend on the results of the last wave.
type Reconciler struct {
	client   client.Reader // reads NodeMaintenances from the cache
	live     client.Reader // reads nodes from the API server
	applying applying
	updating updating
	status   *update.Updater
	events   events.EventRecorder
}

const (
	// atOnce is the delay that puts a NodeMaintenance at the end of the queue, behind other NodeMaintenances.
	atOnce = time.Nanosecond
	// later is the delay before the next reconcile if the last reconcile did not change the status.
	later = time.Second
)

// Reconcile does one step of a NodeMaintenance, and records the result in the status. The first
// step selects the nodes. Each further step works on one wave of nodes.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	var work v1alpha1.NodeMaintenance
	if err := r.client.Get(ctx, request.NamespacedName, &work); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	switch {
	case work.DeletionTimestamp != nil, isComplete(&work) && isTold(&work):
		return reconcile.Result{}, nil
	case work.Annotations[reconciler.PausedAnnotation] == "true":
		logr.FromContextOrDiscard(ctx).Info("the NodeMaintenance is paused by an annotation; neither its nodes nor its status are written", "annotation", reconciler.PausedAnnotation)
		return reconcile.Result{}, nil
	}
	change, err := r.proceed(ctx, &work)
	if errors.Is(ctx.Err(), context.Canceled) { // this manager stops: the next manager repeats the wave
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	ends := false // whether the status write completed the NodeMaintenance; each attempt of the write sets this again
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
		return reconcile.Result{}, fmt.Errorf("writing the status of NodeMaintenance %s: %w", request.Name, err)
	case isComplete(recorded.Object):
		if recorded.Changed && ends { // otherwise an earlier reconcile or another manager has recorded the event
			r.tell(recorded.Object)
		}
		return reconcile.Result{}, nil
	}
	if !recorded.Changed { // the cache is stale, and its next event starts another reconcile
		return reconcile.Result{RequeueAfter: later}, nil
	}
	return reconcile.Result{RequeueAfter: atOnce}, nil
}

// proceed does the work of one reconcile: it selects the nodes, or works on one wave. It returns
// the function that records the result in the status of the live NodeMaintenance.
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

// tell records the event for the end of a NodeMaintenance. If the manager process ends between the
// status write and this call, there is no event. The status has the same information.
func (r *Reconciler) tell(work *v1alpha1.NodeMaintenance) {
	end := meta.FindStatusCondition(work.Status.Conditions, v1alpha1.ConditionComplete)
	eventType := corev1.EventTypeWarning
	if end.Reason == succeeded {
		eventType = corev1.EventTypeNormal
	}
	r.events.Eventf(work, nil, eventType, end.Reason, string(work.Spec.Action), "%.256s (%d nodes: %d succeeded, %d failed)",
		end.Message, work.Status.Total, work.Status.Succeeded, work.Status.Failed)
}

// Time limits of a wave. A node without a result at the end of a wave stays Pending and is also part of the next wave.
const (
	lastAttempt = 10 * time.Second // no attempt on a node begins later than this after the start of the wave
	waveLimit   = 45 * time.Second // running attempts are cancelled this long after the start of the wave
	// lastChance is the time for a node whose deadline was already over when the wave began, such as after a restart of the manager.
	lastChance = 5 * time.Second
)

// outcome is the result of the attempts on one node in one wave. err is nil if an attempt succeeded.
type outcome struct {
	attempts int
	err      error
	final    bool // more attempts would have the same result
}

// work makes attempts on all nodes of a wave concurrently. When the attempts on all nodes have
// ended, work returns the new statuses of these nodes.
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

// limit returns the time limit of a wave: waveLimit, or three quarters of the time until ctx ends
// if that is less. The last quarter is left for the status write.
func limit(ctx context.Context, now time.Time) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return min(waveLimit, end.Sub(now)*3/4)
	}
	return waveLimit
}

// one makes attempts on one node until the node succeeds or fails, its deadline passes, or the wave ends. It returns
// the node's new status. The argument begun is the start of the wave.
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
	logr.FromContextOrDiscard(ctx).Info("ended the attempts on the node in this wave", "node", node.Name, "action", work.Spec.Action,
		"strategy", work.Spec.Strategy, "result", node.Result, "attempt", node.Attempts, "error", node.Error)
	return node
}

// notAhead sets a start time in the future back to begun, the start of the wave. An earlier manager, whose clock was
// ahead, has set such a start time. It would make the node's deadline too late.
func notAhead(node v1alpha1.NodeStatus, begun time.Time) v1alpha1.NodeStatus {
	if node.StartTime.After(begun) {
		node.StartTime = &metav1.MicroTime{Time: begun}
	}
	return node
}

// deadlineOf returns the deadline of a node: its start time plus the given seconds. The start time may be in an earlier
// wave. If the deadline is not after begun, the start of this wave, deadlineOf returns begun plus lastChance.
func deadlineOf(node v1alpha1.NodeStatus, seconds int32, begun time.Time) time.Time {
	deadline := node.StartTime.Add(time.Duration(seconds) * time.Second)
	if deadline.After(begun) {
		return deadline
	}
	return begun.Add(lastChance)
}

// settle returns the new status of a node after its attempts in this wave. The argument late means that the node's
// deadline has passed. A late node that has not succeeded fails.
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
		node.Error = fmt.Sprintf("did not succeed within %d s (spec.nodeDeadlineSeconds) and %d attempts; last error: %v",
			work.Spec.NodeDeadlineSeconds, node.Attempts, done.err)
	default:
		node.Error = done.err.Error()
	}
	node.Error = shortened(node.Error, len(work.Status.Nodes))
	return node
}

// shortened truncates a node's error text. The limit depends on the number of nodes, so that the object stays below etcd's limit of 1.5
// MB if all nodes fail. Without error texts, 1000 nodes with the longest possible names take 1.2 MB.
func shortened(text string, nodes int) string {
	const most, together = 400, 200_000
	limit := min(most, together/max(nodes, 1))
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
