package setup

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/internal/controller/fieldmanagers"
)

// TestCache: the fight detector sees all owners, the reconcilers their own.
func TestCache(t *testing.T) {
	transform := Cache().DefaultTransform
	for _, test := range []struct {
		object metav1.Object
		want   int
	}{
		{&corev1.Service{}, len(fieldmanagers.Names())},
		{&metav1.PartialObjectMetadata{}, len(fieldmanagers.Names()) + 1},
	} {
		var entries []metav1.ManagedFieldsEntry
		for _, manager := range append(fieldmanagers.Names(), "kubectl") {
			entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
				APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:` + manager + `":{}}}`)})
		}
		test.object.SetManagedFields(entries)
		if _, err := transform(test.object); err != nil {
			t.Fatal(err)
		}
		if got := len(test.object.GetManagedFields()); got != test.want {
			t.Errorf("%T: %d entries, want %d", test.object, got, test.want)
		}
	}
}
