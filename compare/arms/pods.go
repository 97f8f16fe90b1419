package arms

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// listPods returns the pods of a set, except pods that are being deleted.
func listPods(ctx context.Context, from client.Reader, set compare.Intent) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(set.Kind.GroupVersion().WithKind(set.Kind.Kind + "List"))
	ofSet := client.MatchingLabels{compare.NodeSetLabel: set.Name}
	if err := from.List(ctx, list, client.InNamespace(set.Namespace), ofSet); err != nil {
		return nil, err
	}
	var pods []unstructured.Unstructured
	for _, pod := range list.Items {
		if pod.GetDeletionTimestamp() == nil {
			pods = append(pods, pod)
		}
	}
	return pods, set.Pause(ctx)
}

// newPod returns a pod whose name the API server will generate. The pod is never scheduled, because the benchmark
// only counts pods.
func newPod(set compare.Intent) *unstructured.Unstructured {
	pod := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"schedulerName": "none",
		"containers":    []any{map[string]any{"name": "pause", "image": "pause"}},
	}}}
	pod.SetGroupVersionKind(set.Kind)
	pod.SetNamespace(set.Namespace)
	pod.SetGenerateName(set.Name + "-")
	pod.SetLabels(map[string]string{compare.NodeSetLabel: set.Name})
	return pod
}
