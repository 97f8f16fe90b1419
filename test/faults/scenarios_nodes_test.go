package faults

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

func emptyMaintenance() client.Object { return &v1alpha1.NodeMaintenance{} }

// maintenances are about a node of their own.
func maintenances() []scenario {
	node := step{
		do: func(w *world) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}}}
			w.create(node)
			w.t.Cleanup(func() { _ = w.Client.Delete(context.WithoutCancel(w.t.Context()), node) })
		},
		done: func(w *world) string {
			var node corev1.Node
			if err := w.get(&node); err != nil || len(node.Spec.Taints) > 0 {
				return fmt.Sprint(err, node.Spec.Taints)
			}
			return ""
		},
	}
	work := func(action v1alpha1.MaintenanceAction, strategy v1alpha1.WriteStrategy) whole {
		return whole{kind: "nodemaintenance", clusterWide: true, done: maintenanceDone, created: func(w *world) client.Object {
			return &v1alpha1.NodeMaintenance{ObjectMeta: w.meta(), Spec: v1alpha1.NodeMaintenanceSpec{
				Action: action, Nodes: []string{w.name}, Reason: "a fan", Strategy: strategy,
			}}
		}}
	}
	cordon, uncordon := work(v1alpha1.Cordon, ""), work(v1alpha1.Uncordon, "")
	return []scenario{
		cordon.scenario("cordon", cordon.create(), node),
		uncordon.scenario("uncordon", uncordon.create(), node, cordon.create(), deleted(emptyMaintenance)),
	}
}

func maintenanceDone(w *world) string {
	var work v1alpha1.NodeMaintenance
	if err := w.get(&work); err != nil {
		return err.Error()
	}
	if !meta.IsStatusConditionTrue(work.Status.Conditions, v1alpha1.ConditionComplete) {
		return fmt.Sprintf("%+v", work.Status)
	}
	return unlessReady(work.Status.Conditions, work.Generation)
}
