package compare

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare"
	recorded "coapply.dev/compare/history"
	"coapply.dev/test/kit"
)

func (w armWorld) pods(t *testing.T, from client.Reader, set string) int {
	t.Helper()
	pods := &unstructured.UnstructuredList{}
	pods.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	if err := from.List(t.Context(), pods, client.InNamespace(w.namespace), client.MatchingLabels{compare.NodeSetLabel: set}); err != nil {
		t.Fatal(err)
	}
	return len(pods.Items)
}

func (w armWorld) waitForCache(t *testing.T, set string, want int) {
	t.Helper()
	for deadline := time.Now().Add(kit.Patience); w.pods(t, w.session.Cache, set) != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the cache shows %d pods of %s, want %d", w.pods(t, w.session.Cache, set), set, want)
		}
	}
}

// Two reconciles that both see no pod where there should be 3 and then, with expectations, 3 where there should be 1.
// (What naive leaves of too many is chance: the two may delete different pods.)
func TestCompareArmsNodeSets(t *testing.T) {
	w := newArmWorld(t).withCache(t)
	type step struct{ replicas, want int }
	for name, steps := range map[string][]step{
		"naive":        {{3, 6}},
		"expectations": {{3, 3}, {1, 1}, {1, 1}},
	} {
		writer := w.writer(t, armNamed(t, name))
		for _, step := range steps {
			set := compare.Intent{
				Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Namespace: w.namespace, Name: name,
				Manager: "set", Replicas: step.replicas,
			}
			if outcomes := atOnce(t, writer, set, set); outcomes[recorded.Landed] != 2 {
				t.Errorf("%s: %v, want 2 landed", name, outcomes)
			}
			if got := w.pods(t, w.client, name); got != step.want {
				t.Fatalf("%s: %d pods where %d are wanted, expected %d", name, got, step.replicas, step.want)
			}
			w.waitForCache(t, name, step.want)
		}
	}
}
