package nodemaintenance

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// Reasons of the condition Complete.
const (
	inProgress      = "InProgress"
	succeeded       = "Succeeded"
	failed          = "Failed"
	noNodes         = "NoNodes"
	tooManyNodes    = "TooManyNodes"
	invalidSelector = "InvalidSelector"
)

// begin writes the selected nodes into the status and starts the first wave. It does nothing if the
// status already has nodes from an earlier reconcile.
func begin(work *v1alpha1.NodeMaintenance, nodes []string, now time.Time) {
	if work.Status.StartTime != nil {
		return
	}
	work.Status.StartTime = &metav1.Time{Time: now}
	for _, name := range nodes {
		work.Status.Nodes = append(work.Status.Nodes, v1alpha1.NodeStatus{Name: name, Result: v1alpha1.NodePending})
	}
	proceed(work, now)
}

// refuse ends a NodeMaintenance that cannot start. The condition Complete gets the reason and the message of the given refusal.
func refuse(work *v1alpha1.NodeMaintenance, why refusal, now time.Time) {
	if work.Status.StartTime != nil {
		return
	}
	work.Status.StartTime = &metav1.Time{Time: now}
	complete(work, why.reason, why.message, now)
}

// wave returns the nodes of the current wave: the nodes that are Pending and have a start time.
func wave(work *v1alpha1.NodeMaintenance) []v1alpha1.NodeStatus {
	var nodes []v1alpha1.NodeStatus
	for _, node := range work.Status.Nodes {
		if node.Result == v1alpha1.NodePending && node.StartTime != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// fold records the results of a wave in the status and starts the next wave. It does not change nodes
// that have already succeeded or failed: another replica of the manager may have worked on the same wave.
func fold(work *v1alpha1.NodeMaintenance, results []v1alpha1.NodeStatus, now time.Time) {
	byName := map[string]v1alpha1.NodeStatus{}
	for _, result := range results {
		byName[result.Name] = result
	}
	for i, node := range work.Status.Nodes {
		if result, ok := byName[node.Name]; ok && node.Result == v1alpha1.NodePending {
			work.Status.Nodes[i] = result
		}
	}
	proceed(work, now)
}

// proceed updates the counts and conditions in the status. Then it starts work on further nodes by setting their start
// time, until spec.concurrency nodes are in progress.
func proceed(work *v1alpha1.NodeMaintenance, now time.Time) {
	status := &work.Status
	status.Total, status.Succeeded, status.Failed = int32(len(status.Nodes)), 0, 0
	for _, node := range status.Nodes {
		switch node.Result {
		case v1alpha1.NodeSucceeded:
			status.Succeeded++
		case v1alpha1.NodeFailed:
			status.Failed++
		}
	}
	switch {
	case status.Total == 0:
		complete(work, noNodes, "no node matches spec.nodeSelector", now)
		return
	case status.Succeeded == status.Total:
		complete(work, succeeded, "every node is in the desired state", now)
		return
	case status.Succeeded+status.Failed == status.Total:
		complete(work, failed, whyFailed(work.Status), now)
		return
	}
	free := int(work.Spec.Concurrency) - len(wave(work))
	for i := range status.Nodes {
		if node := &status.Nodes[i]; free > 0 && node.Result == v1alpha1.NodePending && node.StartTime == nil {
			node.StartTime = &metav1.MicroTime{Time: now}
			free--
		}
	}
	say(work, metav1.ConditionFalse, inProgress, "some nodes are still Pending", now)
}

// whyFailed returns the message of the condition Complete for failed nodes. It contains the error of the first failed node.
func whyFailed(status v1alpha1.NodeMaintenanceStatus) string {
	i := slices.IndexFunc(status.Nodes, func(node v1alpha1.NodeStatus) bool { return node.Result == v1alpha1.NodeFailed })
	return fmt.Sprintf("%d of %d nodes failed (see status.nodes); the first is %s: %s",
		status.Failed, status.Total, status.Nodes[i].Name, status.Nodes[i].Error)
}

func complete(work *v1alpha1.NodeMaintenance, reason, message string, now time.Time) {
	if work.Status.CompletionTime == nil {
		work.Status.CompletionTime = &metav1.Time{Time: now}
	}
	say(work, metav1.ConditionTrue, reason, message, now)
}

func say(work *v1alpha1.NodeMaintenance, status metav1.ConditionStatus, reason, message string, now time.Time) {
	meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
		Type:               v1alpha1.ConditionComplete,
		Status:             status,
		Reason:             reason,
		Message:            message,
		ObservedGeneration: work.Generation,
		LastTransitionTime: metav1.Time{Time: now},
	})
	sayReady(work)
}

// sayReady derives the conditions Ready and Stalled from the condition Complete. A NodeMaintenance that
// ended without success gets Stalled=True. Tools that use kstatus, such as Helm and Flux, then stop waiting.
func sayReady(work *v1alpha1.NodeMaintenance) {
	end := *meta.FindStatusCondition(work.Status.Conditions, v1alpha1.ConditionComplete)
	ready := setup.Ready(end, end.Reason, end.Message)
	work.Status.ObservedGeneration = end.ObservedGeneration
	if end.Status != metav1.ConditionTrue || end.Reason == succeeded || end.Reason == noNodes {
		meta.SetStatusCondition(&work.Status.Conditions, ready)
		meta.RemoveStatusCondition(&work.Status.Conditions, v1alpha1.ConditionStalled)
		return
	}
	ready.Status = metav1.ConditionFalse
	stalled := end
	stalled.Type = v1alpha1.ConditionStalled
	meta.SetStatusCondition(&work.Status.Conditions, ready)
	meta.SetStatusCondition(&work.Status.Conditions, stalled)
}

func isComplete(work *v1alpha1.NodeMaintenance) bool {
	return meta.IsStatusConditionTrue(work.Status.Conditions, v1alpha1.ConditionComplete)
}

// isTold reports whether the status already has the observedGeneration and the conditions Ready and Stalled that sayReady would set.
func isTold(work *v1alpha1.NodeMaintenance) bool {
	told := work.DeepCopy()
	sayReady(told)
	return equality.Semantic.DeepEqual(told.Status, work.Status)
}
