package nodemaintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

var errNotFound = errors.New("the node does not exist")

// applying is the strategy Apply: it cordons and uncordons nodes by Server-Side Apply. A node does not fail because other clients write
// to other fields of the node. Attempts on a node are repeated until one succeeds, an error is permanent, or the node's deadline passes.
type applying struct {
	live client.Reader
	// Two appliers that differ in their conflict policy. With spec.force, the applier force is used:
	// it takes spec.unschedulable from other field managers. The applier strict rejects this conflict.
	strict, force *apply.Applier
}

// policies returns the conflict policies of the appliers strict and force. Both policies force fields that our own
// field manager owns by Update. A NodeMaintenance with the strategy Update has written these fields.
func policies() (strict, force apply.Policy) {
	strict = apply.OnConflict(apply.Reject).When(apply.Match{
		Manager:   fieldmanagers.NodeMaintenance,
		Operation: metav1.ManagedFieldsOperationUpdate,
	}, apply.Force)
	return strict, strict.At(".spec.unschedulable", apply.Force)
}

func retryBackoff() wait.Backoff {
	return wait.Backoff{Steps: 10, Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 5 * time.Second}
}

// do cordons or uncordons the named node. It retries until an attempt succeeds, an error is permanent, or ctx ends. No
// retry begins after the time in the argument last.
func (a applying) do(ctx context.Context, work *v1alpha1.NodeMaintenance, name string, last time.Time) outcome {
	log := logr.FromContextOrDiscard(ctx).WithValues("node", name)
	var done outcome
	for backoff := retryBackoff(); ; {
		wrote, err := a.try(ctx, work, name)
		if wrote || err != nil {
			done.attempts++
		}
		switch {
		case err == nil, !timeIsUp(ctx, err):
			done.err = err
		case done.err == nil: // otherwise keep the error of the earlier attempt, which explains more
			done.err = fmt.Errorf("the API server did not respond in time: %w", ctx.Err())
		}
		if done.final = ctx.Err() == nil && !mayPass(err); done.final || err == nil {
			return done
		}
		delay := backoff.Step()
		if asked, ok := errors.AsType[*apply.RetryableError](err); ok {
			delay = max(delay, asked.After)
		}
		log.Info("attempt on the node failed, retrying", "warning", true, "attempt", done.attempts, "error", err.Error(), "next", delay)
		if pause(ctx, min(delay, time.Until(last))); ctx.Err() != nil || !time.Now().Before(last) {
			return done
		}
	}
}

// timeIsUp reports whether err only means that ctx has been cancelled or has reached its deadline.
func timeIsUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled))
}

// pause waits for the given duration, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// try makes one attempt to cordon or uncordon the node. wrote is true if the attempt sent a write
// to the API server, even if the write failed.
func (a applying) try(ctx context.Context, work *v1alpha1.NodeMaintenance, name string) (wrote bool, err error) {
	if work.Spec.Action == v1alpha1.Uncordon {
		return a.uncordon(ctx, work, name)
	}
	node, marks, err := a.look(ctx, name)
	if err != nil || wanted(node, marks, work) {
		return false, err
	}
	_, err = a.strict.Apply(ctx, readAs(node, cordon(node, work)))
	return true, err
}

// uncordon removes spec.unschedulable and our annotations from a node, in at most three writes, each after a live read.
// A write releases all our fields if our field manager has applied one of them. The API server then removes the fields
// without another owner. Otherwise the write takes the remaining fields (see mayTake). The next write releases them.
func (a applying) uncordon(ctx context.Context, work *v1alpha1.NodeMaintenance, name string) (wrote bool, err error) {
	const steps = 3
	for step := 0; ; step++ {
		node, marks, err := a.look(ctx, name)
		if err != nil || len(marks) == 0 {
			return wrote, err
		}
		free := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return !m.mayTake(work.Spec.Force) })
		switch {
		case step == steps:
			return wrote, held(name, marks, work.Spec.Force)
		case slices.ContainsFunc(marks, mark.applied):
			_, err = ownership.Release(ctx, a.strict, reference(node))
		case len(free) > 0:
			_, err = a.forWork(work).Apply(ctx, readAs(node, take(node, free)))
		default:
			return wrote, held(name, marks, work.Spec.Force)
		}
		if wrote = true; err != nil {
			return wrote, err
		}
	}
}

// readAs returns the intent with the live node in its field Read. Without this field, the applier would read the node
// from the cache, which would start a watch of all nodes.
func readAs(node *corev1.Node, intent apply.Intent) apply.Intent {
	intent.Read = node
	return intent
}

func (a applying) forWork(work *v1alpha1.NodeMaintenance) *apply.Applier {
	if work.Spec.Force {
		return a.force
	}
	return a.strict
}

func (a applying) look(ctx context.Context, name string) (*corev1.Node, []mark, error) {
	node := &corev1.Node{}
	err := a.live.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, errNotFound
	case err != nil:
		node.Name = name
		return nil, nil, apply.Classify(ctx, reference(node), err)
	}
	marks, err := marksOf(node)
	return node, marks, err
}

func reference(node *corev1.Node) apply.ObjectRef {
	return apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"),
		NamespacedName:   types.NamespacedName{Name: node.Name},
		UID:              node.UID,
		ResourceVersion:  node.ResourceVersion,
	}
}
