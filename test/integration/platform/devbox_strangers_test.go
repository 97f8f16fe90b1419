package platform

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
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
		stranger.SetNamespace(p.Namespace)
		if err := p.Client.Create(t.Context(), stranger); err != nil {
			t.Fatal(err)
		}
	}
	set(t, p, "box", v1alpha1.DevboxShutdown)
	box := waitForPhase(t, p, "box", v1alpha1.PhaseShutdown)
	wantLast(t, box, pod)
	patchStatus(t, p, &corev1.Pod{}, "stranger", `{"status":{"phase":"Failed"}}`)
	p.Quiet(t, time.Second)
	deleteBeside(t, p, box)
	for _, stranger := range strangers {
		before := stranger.GetUID()
		if p.Get(t, stranger.GetName(), stranger); stranger.GetUID() != before || stranger.GetDeletionTimestamp() != nil {
			t.Errorf("%T was deleted", stranger)
		}
	}
	p.Quiet(t, time.Second)
}

// TestDeploymentTaken: somebody takes the Deployment from the Devbox. Its pod has our
// finalizer still and stays with the Deployment; it is let go when it goes.
func TestDeploymentTaken(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	p.Patch(t, &appsv1.Deployment{}, "box", `{"metadata":{"ownerReferences":null,"labels":{"`+devbox.Label+`":null}}}`)
	p.Quiet(t, time.Second)
	deleteBeside(t, p, p.Get(t, "box", &v1alpha1.Devbox{}))
	p.Quiet(t, time.Second)
	if pods := pods(t, p, "box"); len(pods) != 1 || pods[0].UID != pod.UID || pods[0].DeletionTimestamp != nil {
		t.Fatalf("somebody else's pods: %d, %+v", len(pods), pods)
	}
	deleteObject(t, p, p.Get(t, "box", &appsv1.Deployment{}), client.PropagationPolicy(metav1.DeletePropagationForeground))
	waitUntilGone(t, p, "box")
}

// deleteBeside deletes a Devbox with whose label there is something that stays.
func deleteBeside(t *testing.T, p *kit.Platform, box client.Object) {
	t.Helper()
	deleteObject(t, p, box)
	kit.WaitFor(t, "the Devbox is gone", func() string {
		err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(box), box)
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Sprint(err, box.GetFinalizers(), len(p.Writes.Take()), " writes more")
		}
		return ""
	})
}
