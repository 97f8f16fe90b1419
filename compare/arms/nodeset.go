package arms

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
)

// naive counts the pods in the cache and creates or deletes the difference. The cache may not show yet what was done a
// moment ago, and then it is done again.
func naive(s compare.Session) writer {
	return func(ctx context.Context, set compare.Intent) (compare.Receipt, error) {
		pods, err := listPods(ctx, s.Cache, set)
		if err != nil {
			return compare.Receipt{}, err
		}
		c := s.Client(set.Manager)
		for range set.Replicas - len(pods) {
			if err := c.Create(ctx, newPod(set), client.FieldOwner(set.Manager)); err != nil {
				return compare.Receipt{}, err
			}
		}
		for i := range len(pods) - set.Replicas {
			if err := client.IgnoreNotFound(c.Delete(ctx, &pods[i])); err != nil {
				return compare.Receipt{}, err
			}
		}
		return compare.Receipt{Skipped: len(pods) == set.Replicas}, nil
	}
}

// listPods gives the pods of a set that are not being deleted.
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

// newPod gives a pod with a name of the server's. No scheduler takes it, because only its number counts.
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

// podSets are the arms that decide on the number of pods.
func podSets() []compare.Arm {
	return []compare.Arm{
		{
			Name: "naive", Summary: "counts pods in the cache, creates or deletes the difference",
			Cached: true, Whole: true,
			Source: source("naive", "listPods"), New: madeWithCache(naive),
		},
		{
			Name: "expectations", Summary: "as naive, but does nothing until the cache shows what was done before",
			Cached: true, Whole: true,
			Source: source("withExpectations", "expectations", "expectation", "listPods"), New: madeWithCache(withExpectations),
		},
	}
}
