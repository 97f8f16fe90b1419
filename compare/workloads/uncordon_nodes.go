package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	nodePatience = 30 * time.Second
	nodePoll     = 20 * time.Millisecond
)

// createNodes creates nodes that kwok simulates, with a taint that keeps the pods of others away, and waits
// until they are ready and have no other taint.
func createNodes(ctx context.Context, c client.Client, names []string) error {
	for _, name := range names {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{"type": "kwok", corev1.LabelHostname: name, corev1.LabelOSStable: "linux"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
		}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: domain + "only", Effect: corev1.TaintEffectNoSchedule}}}}
		if err := c.Create(ctx, node); err != nil {
			return fmt.Errorf("creating node %s: %w", name, err)
		}
	}
	for _, name := range names {
		if err := waitNode(ctx, c, name, "ready", isReady); err != nil {
			return err
		}
	}
	return nil
}

func isReady(node *corev1.Node) bool {
	return len(node.Spec.Taints) == 1 && slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// The time limit of leaveTime, and the time between two reads of the node. The node lifecycle controller can be slow:
// by default, it sends at most 20 requests per second for all nodes together.
const (
	taintPatience = 2 * time.Second
	taintPoll     = 25 * time.Millisecond
)

// leaveTime waits up to taintPatience until the node lifecycle controller has added (or removed) the taint of a cordon.
func (r *uncordon) leaveTime(ctx context.Context, name string, cordoned bool) error {
	err := wait.PollUntilContextTimeout(ctx, taintPoll, taintPatience, true, func(ctx context.Context) (bool, error) {
		var node corev1.Node
		if err := r.stage.Admin.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return false, fmt.Errorf("reading node %s: %w", name, err)
		}
		tainted := slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable })
		return tainted == cordoned || node.Spec.Unschedulable != cordoned, nil // the second case: an arm gave up and left its node cordoned
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil
	}
	return err
}

// seeCordon waits until the cache of the arm shows that a node is cordoned. Otherwise an arm that skips no-op writes
// could find the node uncordoned in a stale cache, and skip the uncordon.
func (r *uncordon) seeCordon(ctx context.Context, name string) error {
	if r.stage.Cache == nil || r.stage.Cache() == nil {
		return nil
	}
	err := wait.PollUntilContextTimeout(ctx, nodePoll, nodePatience, true, func(ctx context.Context) (bool, error) {
		node := &unstructured.Unstructured{}
		node.SetGroupVersionKind(r.kind.GroupVersionKind)
		if err := r.stage.Cache().Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return maintenanceFields(node)["unschedulable"] != "", nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the cache shows the cordon of node %s: %w", name, err)
	}
	return nil
}

func waitNode(ctx context.Context, c client.Client, name, what string, done func(*corev1.Node) bool) error {
	var node corev1.Node
	err := wait.PollUntilContextTimeout(ctx, nodePoll, nodePatience, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return false, err
		}
		return done(&node), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for node %s to be %s: %w; are kwok and the controller manager running?", name, what, err)
	}
	return nil
}

// mergeInto sets fields of a node by a merge patch. The patch has no resourceVersion, so it is never stale.
func mergeInto(ctx context.Context, c client.Client, name string, part map[string]any, manager string) error {
	patch, err := json.Marshal(part)
	if err != nil {
		return err
	}
	node := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	node.Name = name
	return c.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(manager))
}

// appliesFields reports whether an arm removes a field by an apply that no longer lists the field.
func appliesFields(arm string) bool {
	return strings.HasPrefix(arm, "ssa") || arm == "apply"
}

func maintenanceFields(o *unstructured.Unstructured) map[string]string {
	fields := map[string]string{}
	if on, _, _ := unstructured.NestedBool(o.Object, "spec", "unschedulable"); on {
		fields["unschedulable"] = "true"
	}
	for _, name := range []string{maintenanceID, maintenanceState} {
		if value, found := o.GetAnnotations()[name]; found {
			fields[name] = value
		}
	}
	return fields
}
