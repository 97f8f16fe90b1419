package integration

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/devbox"
)

// TestStrangersWithOurLabel: anybody can give pods the label of a Devbox, those of a
// ReplicaSet too. That makes them none of its own: they do not count, and stay.
func TestStrangersWithOurLabel(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	labels := map[string]string{devbox.Label: "box", "app": "stranger"}
	spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/other:1"}}}
	strangers := []client.Object{
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stranger", Labels: labels}, Spec: spec},
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "box-stranger"}, Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "strangers"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "strangers", devbox.Label: "box"}}, Spec: spec},
		}},
	}
	for _, stranger := range strangers {
		stranger.SetNamespace(p.namespace)
		if err := p.client.Create(t.Context(), stranger); err != nil {
			t.Fatal(err)
		}
	}
	p.set(t, "box", v1alpha1.DevboxShutdown)
	box := p.waitForPhase(t, "box", v1alpha1.PhaseShutdown)
	wantLast(t, box, pod)
	p.patchStatus(t, &corev1.Pod{}, "stranger", `{"status":{"phase":"Failed"}}`)
	p.quiet(t, time.Second)
	p.deleteBeside(t, box)
	for _, stranger := range strangers {
		before := stranger.GetUID()
		if p.get(t, stranger.GetName(), stranger); stranger.GetUID() != before || stranger.GetDeletionTimestamp() != nil {
			t.Errorf("%T was deleted", stranger)
		}
	}
	p.quiet(t, time.Second)
}

// TestDeploymentTaken: somebody takes the Deployment from the Devbox. Its pod has our
// finalizer still and stays with the Deployment; it is let go when it goes.
func TestDeploymentTaken(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	p.patch(t, &appsv1.Deployment{}, "box", `{"metadata":{"ownerReferences":null,"labels":{"`+devbox.Label+`":null}}}`)
	p.quiet(t, time.Second)
	p.deleteBeside(t, p.get(t, "box", &v1alpha1.Devbox{}))
	p.quiet(t, time.Second)
	if pods := p.pods(t, "box"); len(pods) != 1 || pods[0].UID != pod.UID || pods[0].DeletionTimestamp != nil {
		t.Fatalf("somebody else's pods: %d, %+v", len(pods), pods)
	}
	p.delete(t, p.get(t, "box", &appsv1.Deployment{}), client.PropagationPolicy(metav1.DeletePropagationForeground))
	p.waitUntilGone(t, "box")
}

// deleteBeside deletes a Devbox with whose label there is something that stays.
func (p *platform) deleteBeside(t *testing.T, box client.Object) {
	t.Helper()
	p.delete(t, box)
	waitFor(t, "the Devbox is gone", func() string {
		err := p.client.Get(t.Context(), client.ObjectKeyFromObject(box), box)
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Sprint(err, box.GetFinalizers(), len(p.writes.take()), " writes more")
		}
		return ""
	})
}
