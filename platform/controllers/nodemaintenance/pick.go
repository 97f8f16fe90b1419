package nodemaintenance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

// refusal is the error of a NodeMaintenance that cannot start, because its nodeSelector is invalid
// or matches too many nodes. reason becomes the reason of the condition Complete.
type refusal struct{ reason, message string }

func (r *refusal) Error() string { return r.message }

// pick selects the nodes of a NodeMaintenance and returns the function that writes them into its status.
// If the nodeSelector is invalid or matches too many nodes, the function instead ends the NodeMaintenance.
func (r *Reconciler) pick(ctx context.Context, work *v1alpha1.NodeMaintenance) (func(*v1alpha1.NodeMaintenance) error, error) {
	nodes := work.Spec.Nodes
	var err error
	if work.Spec.NodeSelector != nil {
		nodes, err = r.matching(ctx, work.Spec.NodeSelector.LabelSelector())
	}
	now := time.Now()
	if refused, ok := errors.AsType[*refusal](err); ok {
		return func(work *v1alpha1.NodeMaintenance) error { refuse(work, *refused, now); return nil }, nil
	}
	return func(work *v1alpha1.NodeMaintenance) error { begin(work, nodes, now); return nil }, err
}

// matching returns the sorted names of the nodes that match the labels. The error is a refusal if
// the selector is invalid or matches more than MaxNodes nodes.
func (r *Reconciler) matching(ctx context.Context, labels *metav1.LabelSelector) ([]string, error) {
	selector, err := metav1.LabelSelectorAsSelector(labels)
	if err != nil {
		return nil, &refusal{invalidSelector, "spec.nodeSelector is not valid: " + err.Error()}
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	err = r.live.List(ctx, &list, client.MatchingLabelsSelector{Selector: selector}, client.Limit(v1alpha1.MaxNodes+1))
	if err != nil {
		return nil, fmt.Errorf("listing the nodes that match spec.nodeSelector: %w", err)
	}
	if len(list.Items) > v1alpha1.MaxNodes {
		return nil, &refusal{tooManyNodes, fmt.Sprintf(
			"spec.nodeSelector matches more than %d nodes, so no node was changed; create another NodeMaintenance with a narrower selector", v1alpha1.MaxNodes)}
	}
	var names []string
	for _, node := range list.Items {
		names = append(names, node.Name)
	}
	slices.Sort(names)
	return names, nil
}
