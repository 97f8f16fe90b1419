package nodemaintenance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
)

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
