package setup

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/api/v1alpha1"
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

// TestCachedAnnotations: foreign ones take no memory, and none of ours is lost, as what is
// absent from the cache would be applied again each time.
func TestCachedAnnotations(t *testing.T) {
	ours := map[string]string{"coapply.dev/paused": "true", "platform.coapply.dev/content-id": "c"}
	for _, claim := range fieldmanagers.All() {
		for _, path := range claim.Paths {
			if key, ok := strings.CutPrefix(path, `.metadata.annotations["`); ok {
				ours[strings.TrimSuffix(key, `"]`)] = "claimed"
			}
		}
	}
	annotations := maps.Clone(ours)
	for _, foreign := range []string{"example.com/note", "kubectl.kubernetes.io/last-applied-configuration", "plain", "notcoapply.dev/x"} {
		annotations[foreign] = "foreign"
	}
	for _, object := range []metav1.Object{&v1alpha1.Devbox{}, &corev1.Namespace{}, &unstructured.Unstructured{Object: map[string]any{}}} {
		object.SetAnnotations(maps.Clone(annotations))
		if _, err := Cache().DefaultTransform(object); err != nil {
			t.Fatal(err)
		}
		if got := object.GetAnnotations(); !maps.Equal(got, ours) {
			t.Errorf("%T: %v, want %v", object, got, ours)
		}
	}
	metadata := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "box", UID: "1", Annotations: annotations,
		Labels: annotations, Finalizers: []string{"x"}, OwnerReferences: []metav1.OwnerReference{{Name: "owner"}}}}
	if _, err := Cache().DefaultTransform(metadata); err != nil {
		t.Fatal(err)
	}
	want := metav1.ObjectMeta{Name: "box", UID: "1", OwnerReferences: []metav1.OwnerReference{{Name: "owner"}}}
	if !reflect.DeepEqual(metadata.ObjectMeta, want) {
		t.Errorf("of the metadata alone: %+v", metadata.ObjectMeta)
	}
}
