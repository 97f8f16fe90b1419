package devbox

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"coapply.dev"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func TestWorthReconciling(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.Devbox)
		want   bool
	}{
		{"the spec changed", func(b *v1alpha1.Devbox) { b.Generation++ }, true},
		{"new content", func(b *v1alpha1.Devbox) { b.Status.ContentID = committed }, true},
		{"paused or no longer", func(b *v1alpha1.Devbox) {
			b.Annotations = map[string]string{reconciler.PausedAnnotation: "true"}
		}, true},
		{"another reconciler wrote its part of the status", func(b *v1alpha1.Devbox) {
			b.Status.LastContainerStatus = &corev1.ContainerStatus{Name: "devbox"}
			b.Status.Network = &v1alpha1.DevboxNetworkStatus{}
			b.ResourceVersion = "2"
		}, false},
		{"the network is as wanted, or no longer", func(b *v1alpha1.Devbox) {
			b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNetworkApplied}}
		}, true},
		{"somebody's annotation", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"example.com/note": "x"} }, false},
		{"a finalizer came", func(b *v1alpha1.Devbox) { b.Finalizers = []string{Finalizer} }, false},
	} {
		before, after := with(created), with(created)
		test.change(after)
		update := event.UpdateEvent{ObjectOld: before, ObjectNew: after}
		entries := []metav1.ManagedFieldsEntry{{Manager: fieldmanagers.DevboxWorkload, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}
		update.ObjectOld.SetManagedFields(entries)
		update.ObjectNew.SetManagedFields(entries)
		if got := coapply.Relevant(fieldmanagers.DevboxWorkload, workloadDependsOn...).Update(update); got != test.want {
			t.Errorf("%s: reconciles is %t", test.reason, got)
		}
	}
}

// created gives a Devbox the generation that the API server does.
func created(b *v1alpha1.Devbox) { b.Generation = 1 }

// TestContentDependsOn: whatever contentOf looks at leads to a reconcile.
func TestContentDependsOn(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.Devbox)
		want   bool
	}{
		{"the spec changed", func(b *v1alpha1.Devbox) { b.Generation++ }, true},
		{"somebody changed the content", func(b *v1alpha1.Devbox) { b.Status.ContentID = "mine" }, true},
		{"it stopped", func(b *v1alpha1.Devbox) { b.Status.Phase = v1alpha1.PhaseStopped }, true},
		{"a container ended", func(b *v1alpha1.Devbox) { had(first, "", "sim://1")(b) }, true},
		{"it ran on another content", func(b *v1alpha1.Devbox) { b.Status.LastContentID = first }, true},
		{"the network is there", func(b *v1alpha1.Devbox) { b.Status.Network = &v1alpha1.DevboxNetworkStatus{} }, false},
		{"its last container's status says more", func(b *v1alpha1.Devbox) { b.Status.LastContainerStatus = &corev1.ContainerStatus{Name: "devbox"} }, false},
	} {
		update := event.UpdateEvent{ObjectOld: sample(), ObjectNew: with(test.change)}
		entries := []metav1.ManagedFieldsEntry{{Manager: fieldmanagers.DevboxContent, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}")}}
		update.ObjectOld.SetManagedFields(entries)
		update.ObjectNew.SetManagedFields(entries)
		if got := coapply.Relevant(fieldmanagers.DevboxContent, contentDependsOn...).Update(update); got != test.want {
			t.Errorf("%s: reconciles is %t", test.reason, got)
		}
	}
}
