package nodeset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubelabels "k8s.io/apimachinery/pkg/labels"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
)

// writeStatus writes the result of a reconcile into the NodeSet's status: the counts of pods and the conditions. If
// the live NodeSet has a newer generation, nothing is written, and the event of the new spec starts another reconcile.
func (n nodeSets) writeStatus(ctx context.Context, seen view, d *decision, done result) error {
	conditions := []metav1.Condition{applied(seen.set.Generation, d, done), ready(seen.set.Generation, d)}
	n.tell(seen.set, conditions[0])
	_, err := update.Status(ctx, n.updater, seen.set, func(set *v1alpha1.NodeSet) error {
		status := &set.Status
		if set.Generation != seen.set.Generation {
			return nil
		}
		status.ObservedGeneration = seen.set.Generation
		status.Replicas, status.ReadyReplicas, status.UpdatedReplicas = d.replicas, d.ready, d.updated
		status.Selector = kubelabels.SelectorFromSet(selector(set)).String()
		status.ControllerAddress = seen.address
		if d.revision != "" {
			status.Revision = d.revision
		}
		for _, condition := range conditions {
			meta.SetStatusCondition(&status.Conditions, condition)
		}
		return nil
	})
	if apierrors.IsNotFound(err) || errors.Is(err, apply.ErrUIDMismatch) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of NodeSet %s: %w", seen.set.Name, err)
	}
	return nil
}

// tell records a warning event with the reason and message of the given condition, if only a person can solve the
// problem (see the switch). It records no event if the status already has the same reason and message.
func (n nodeSets) tell(set *v1alpha1.NodeSet, is metav1.Condition) {
	was := meta.FindStatusCondition(set.Status.Conditions, is.Type)
	if was != nil && was.Reason == is.Reason && was.Message == is.Message {
		return
	}
	switch is.Reason {
	case reconciler.ReasonNameTaken, reconciler.ReasonOwnershipConflict, "Refused":
		reconciler.Event(n.events, set, corev1.EventTypeWarning, is.Reason, is.Message)
	}
}

// applied returns the NodeSet's condition Applied. The message contains only the first of several errors, because a
// list of all errors would change the condition in each reconcile.
func applied(generation int64, d *decision, done result) metav1.Condition {
	var what reconciler.Applied
	switch err := foreignError(d.foreign); {
	case len(done.errs) > 0:
		what.Errs = done.errs[:1]
	case err != nil:
		what.Errs = []error{err}
	case d.waiting:
		what.Outcomes = []apply.Outcome{{Action: apply.Absent, Object: slurmController}}
	}
	condition := reconciler.Condition(v1alpha1.ConditionApplied, generation, what)
	switch {
	case len(done.errs) == 0 && len(d.foreign) > 0:
		condition.Reason = reconciler.ReasonNameTaken
	case condition.Status == metav1.ConditionTrue && d.more:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionUnknown, "Applying", "some pods are not applied yet; the next reconcile applies more pods"
	}
	return condition
}

var slurmController = apply.ObjectRef{GroupVersionKind: v1alpha1.SchemeGroupVersion.WithKind("SlurmController")}

func ready(generation int64, d *decision) metav1.Condition {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: generation,
		Reason: "PodsNotReady", Message: "pods are missing or not ready",
	}
	switch {
	case d.complete:
		condition.Status = metav1.ConditionTrue
		condition.Reason, condition.Message = "PodsReady", "every desired pod is ready and has the current revision"
	case d.waiting:
		condition.Reason, condition.Message = "NoController", "waiting for the SlurmController in spec.controllerName to exist and to have its Service"
	case d.old > 0:
		condition.Reason, condition.Message = "Updating", "pods of an old revision are being replaced"
	}
	return condition
}
