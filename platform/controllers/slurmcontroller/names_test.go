package slurmcontroller

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func TestIsControllers(t *testing.T) {
	controlled := func(kind, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "slurm-controller", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: kind, Name: name, Controller: new(true),
		}}}
	}
	labelled := metav1.ObjectMeta{Name: "slurm-controller", Labels: map[string]string{Label: "slurm"}}
	made := labelled
	made.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: fieldmanagers.SlurmController, Operation: metav1.ManagedFieldsOperationApply}}
	for _, test := range []struct {
		reason string
		object client.Object
		want   bool
	}{
		{"the Service of slurm", &corev1.Service{ObjectMeta: controlled(kind, "slurm")}, true},
		{"its owner reference was taken off", &corev1.Service{ObjectMeta: made}, true},
		{"a label that anybody may set", &corev1.Service{ObjectMeta: labelled}, false},
		{"a Service that nobody controls", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "slurm-controller"}}, false},
		{"a Devbox's of the name of the Service", &corev1.Service{ObjectMeta: controlled("Devbox", "slurm-controller")}, false},
		{"the StatefulSet of slurm-controller", &appsv1.StatefulSet{ObjectMeta: controlled(kind, "slurm-controller")}, true},
		{"a StatefulSet under the name of slurm's Service", &appsv1.StatefulSet{ObjectMeta: controlled(kind, "slurm")}, false},
		{"a Service without the suffix", &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "slurm", Labels: made.Labels, ManagedFields: made.ManagedFields}}, false},
	} {
		if got := isControllers(test.object); got != test.want {
			t.Errorf("%s: belongs is %t", test.reason, got)
		}
	}
}
