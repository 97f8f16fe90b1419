package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestForeignChildren: a Deployment and a Service that have the Devbox's name and
// conflict with nothing but the selector, or with nothing at all.
func TestForeignChildren(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	labels := map[string]string{"app": "other"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "box"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/other:1"}}},
			},
		},
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "box"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
	}
	for _, object := range []client.Object{deployment, service} {
		if err := p.Client.Create(t.Context(), object, client.FieldOwner("other")); err != nil {
			t.Fatal(err)
		}
	}
	box := p.Create(t, "box")
	want := map[string]metav1.ConditionStatus{
		v1alpha1.ConditionWorkloadApplied: metav1.ConditionFalse,
		v1alpha1.ConditionNetworkApplied:  metav1.ConditionFalse,
		v1alpha1.ConditionPowerApplied:    metav1.ConditionUnknown,
	}
	kit.WaitFor(t, "the status says so", func() string {
		p.Get(t, "box", box)
		for name, status := range want {
			if condition := meta.FindStatusCondition(box.Status.Conditions, name); condition == nil || condition.Status != status {
				return fmt.Sprintf("%s: %v", name, condition)
			}
		}
		return ""
	})
	waitForEvent(t, p, "Devbox", "box", reconciler.ReasonNameTaken, "Deployment "+p.Namespace+"/box")
	waitForEvent(t, p, "Devbox", "box", reconciler.ReasonNameTaken, "Service "+p.Namespace+"/box")
	deleteObject(t, p, box)
	waitUntilGone(t, p, "box")
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		wantUntouched(t, p, "box", object)
		if len(object.GetLabels()) > 0 {
			t.Errorf("%T has labels %v", object, object.GetLabels())
		}
	}
	if n := podReplicas(t, p); n != 3 {
		t.Errorf("%d replicas, want the 3 of the other", n)
	}
}

// wantUntouched holds that somebody else's object is there, and nobody of ours wrote to it.
func wantUntouched(t *testing.T, p *kit.Platform, name string, object client.Object) {
	t.Helper()
	p.Get(t, name, object)
	if object.GetDeletionTimestamp() != nil || len(object.GetOwnerReferences()) > 0 {
		t.Errorf("%T was taken: %v", object, object.GetOwnerReferences())
	}
	for _, entry := range object.GetManagedFields() {
		if strings.HasPrefix(entry.Manager, "coapply-") {
			t.Errorf("%T has fields of %s", object, entry.Manager)
		}
	}
}

// TestForeignServiceType: a type that no Devbox may ask for is reported all the
// same, with the conflict.
func TestForeignServiceType(t *testing.T) {
	t.Parallel()
	p, _ := running(t)
	p.Patch(t, &corev1.Service{}, "box", `{"spec":{"type":"LoadBalancer"}}`)
	kit.WaitFor(t, "the conflict and the type are in the status", func() string {
		box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
		condition := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionNetworkApplied)
		if condition.Reason != "OwnershipConflict" || box.Status.Network == nil || box.Status.Network.Type != "LoadBalancer" {
			return fmt.Sprint(condition, box.Status.Network)
		}
		return ""
	})
	p.Quiet(t, time.Second)
}
