package workloads

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// nodeUncordon is a workload that uncordons nodes to which other clients write all the time.
func nodeUncordon() compare.Workload {
	return compare.Workload{
		Name: "node-uncordon",
		Summary: "nodes of the local cluster, uncordoned 15 at once, while kubelets and the node lifecycle controller write to them; " +
			"with fewer objects than writers, several operators uncordon the same node at once",
		Defaults: compare.Parameters{Writers: 15, Objects: 15, Managers: 1, Rounds: 29},
		Fixed:    []string{"managers", "rate", "warmup", "duration"},
		Arms:     []string{"naive", "gmu-exponential", "ssa", "apply"},
		Local:    true,
		Deadline: 30 * time.Second,
		Prepare:  prepareUncordon,
	}
}

// operator is the field manager of all writers, because they are replicas of one tool. With Server-Side Apply,
// only the field manager that cordoned a node can remove the cordon without force.
const operator = "maintenance"

// Annotations of a node under maintenance: the id of the maintenance, and its state.
const (
	maintenanceID    = domain + "maintenance"
	maintenanceState = domain + "maintenance-state"
)

type uncordon struct {
	ofKind

	gate  *gate
	nodes []string
}

func prepareUncordon(ctx context.Context, stage compare.Stage) (compare.Run, error) {
	kind := compare.Kind{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"), Resource: "nodes", Cluster: true}
	r := &uncordon{ofKind: ofKind{stage, kind}, gate: newGate(stage.Writers)}
	for i := range min(stage.Objects, stage.Writers) {
		r.nodes = append(r.nodes, inTrial(stage, fmt.Sprintf("node-%02d", i)))
	}
	return r, createNodes(ctx, stage.Admin, r.nodes)
}

// Next cordons a node and returns the intent that uncordons the node. The cordon is not measured. If several writers
// share a node, the first one cordons it, after all writers have ended the previous round.
func (r *uncordon) Next(ctx context.Context, writer, round int) (compare.Intent, bool, error) {
	if r.over(round) {
		r.gate.arrive(writer, 2*round)
		return compare.Intent{}, false, nil
	}
	if err := r.cordonOnce(ctx, writer, round); err != nil {
		return compare.Intent{}, false, err
	}
	return r.intent(writer, round), true, nil
}

// intent returns the intent that removes the cordon and its annotations. If the node is uncordoned already,
// there is nothing to write.
func (r *uncordon) intent(writer, round int) compare.Intent {
	return compare.Intent{
		Writer: writer, Sequence: round,
		Kind: r.kind.GroupVersionKind, Name: r.nodes[writer%len(r.nodes)], Manager: operator,
		Wants:     map[string]string{"unschedulable": "", maintenanceID: "", maintenanceState: ""},
		Configure: func(*unstructured.Unstructured) map[string]any { return map[string]any{} },
		Modify: func(o *unstructured.Unstructured) error {
			unstructured.RemoveNestedField(o.Object, "spec", "unschedulable")
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", maintenanceID)
			unstructured.RemoveNestedField(o.Object, "metadata", "annotations", maintenanceState)
			return nil
		},
	}
}

// cordonOnce makes sure that the node of a writer is cordoned once in a round, and returns when it is cordoned.
func (r *uncordon) cordonOnce(ctx context.Context, writer, round int) error {
	before, after := 2*round, 2*round+1
	if len(r.nodes) == r.stage.Writers {
		return r.cordon(ctx, writer, round, r.nodes[writer])
	}
	if writer >= len(r.nodes) {
		r.gate.arrive(writer, after)
		return r.gate.wait(ctx, after)
	}
	if err := r.gate.pass(ctx, writer, before); err != nil {
		return err
	}
	if err := r.cordon(ctx, writer, round, r.nodes[writer]); err != nil {
		return err
	}
	return r.gate.pass(ctx, writer, after)
}

// cordon cordons a node. Before it does so, it waits until the node lifecycle controller has removed the taint of the
// previous cordon. Then it waits until this controller has added the new taint. Otherwise a late write of the
// controller could make the arm's writes stale.
func (r *uncordon) cordon(ctx context.Context, writer, round int, node string) error {
	id := uniqueValue(writer, round)
	if err := r.leaveTime(ctx, node, false); err != nil {
		return err
	}
	wanted := map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{maintenanceID: id, maintenanceState: id + "-draining"}},
		"spec":     map[string]any{"unschedulable": true},
	}
	r.stage.Note(compare.Intent{
		Writer: writer, Sequence: round, Kind: r.kind.GroupVersionKind, Name: node, Manager: operator,
		Wants: map[string]string{"unschedulable": "true", maintenanceID: id, maintenanceState: id + "-draining"},
	})
	if err := r.writeCordon(ctx, node, wanted); err != nil {
		return fmt.Errorf("cordoning node %s: %w", node, err)
	}
	if err := r.leaveTime(ctx, node, true); err != nil {
		return err
	}
	return r.seeCordon(ctx, node)
}

// writeCordon writes the cordon. It uses an apply if the arm removes fields by an apply, because an apply removes
// only fields that were applied before. For other arms it uses a merge patch.
func (r *uncordon) writeCordon(ctx context.Context, node string, wanted map[string]any) error {
	if !appliesFields(r.stage.Arm) {
		return mergeInto(ctx, r.stage.Admin, node, wanted, operator)
	}
	o := &unstructured.Unstructured{Object: wanted}
	o.SetGroupVersionKind(r.kind.GroupVersionKind)
	o.SetName(node)
	return r.stage.Admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(operator), client.ForceOwnership)
}

// Fields implements compare.Run. It returns nil for nodes of other trials.
func (r *uncordon) Fields(o *unstructured.Unstructured) map[string]string {
	if !r.has(o, "node-") {
		return nil
	}
	return maintenanceFields(o)
}
