package platform

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// TestLateRevisionIsRefused: what package nodeset rests on. A pod of one revision is
// not changed into one of another by an apply that comes late, not even its labels, as
// the revision stands in what cannot be changed.
func TestLateRevisionIsRefused(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	kit.WaitFor(t, "the namespace's service account", func() string {
		key := client.ObjectKey{Namespace: namespace, Name: "default"}
		if err := c.Get(t.Context(), key, &corev1.ServiceAccount{}); err != nil {
			return err.Error()
		}
		return ""
	})
	apply := func(revision string) error {
		pod := corev1ac.Pod("set-0", namespace).
			WithLabels(map[string]string{"revision": revision}).
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().
				WithName("c").WithImage("registry.example.com/slurmd:1").
				WithEnv(corev1ac.EnvVar().WithName("REVISION").WithValue(revision))))
		return c.Apply(t.Context(), pod, client.FieldOwner("late"))
	}
	if err := apply("new"); err != nil {
		t.Fatal(err)
	}
	if err := apply("old"); !apierrors.IsInvalid(err) {
		t.Errorf("the late apply: %v, want it to be refused", err)
	}
	var pod corev1.Pod
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "set-0"}, &pod); err != nil {
		t.Fatal(err)
	}
	if pod.Labels["revision"] != "new" || pod.Spec.Containers[0].Env[0].Value != "new" {
		t.Errorf("the pod has labels %v and %v", pod.Labels, pod.Spec.Containers[0].Env)
	}
}
