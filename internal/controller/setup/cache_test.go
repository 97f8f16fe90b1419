package setup

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// TestCache: the fight detector sees all owners, the reconcilers their own.
func TestCache(t *testing.T) {
	transform := Cache().DefaultTransform
	for _, test := range []struct {
		object metav1.Object
		want   int
	}{
		{&corev1.Service{}, len(fieldmanagers.All().Managers())},
		{&metav1.PartialObjectMetadata{}, len(fieldmanagers.All().Managers()) + 1},
	} {
		var entries []metav1.ManagedFieldsEntry
		for _, manager := range append(fieldmanagers.All().Managers(), "kubectl") {
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
		for _, path := range slices.Concat(claim.Applies, claim.Updates) {
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

// TestCachedManagedFields: a tenant's managers have a bound, whatever their number, and take
// none of ours with them.
func TestCachedManagedFields(t *testing.T) {
	entry := func(manager string, size int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{"v:` + strings.Repeat("x", size) + `":{}}}}`)}
	}
	ours := fieldmanagers.All().Managers()[0]
	many := []metav1.ManagedFieldsEntry{entry(ours, 10), entry("kubectl", 100)}
	for i := range 2000 {
		many = append(many, entry(fmt.Sprint("tenant-", i), 1000))
	}
	for _, test := range []struct {
		reason      string
		entries     []metav1.ManagedFieldsEntry
		kept, least int
	}{
		{"what people have", []metav1.ManagedFieldsEntry{entry(ours, 10), entry("kubectl", 4000), entry("helm", 4000)}, 3, 3},
		{"one that is huge", []metav1.ManagedFieldsEntry{entry(ours, 10), entry("tenant", 2*maxForeign), entry("kubectl", 4000)}, 2, 2},
		{"ours is huge", []metav1.ManagedFieldsEntry{entry(ours, 2*maxForeign), entry("kubectl", 4000)}, 2, 2},
		{"a huge one under the name of who is made up", []metav1.ManagedFieldsEntry{entry(ours, 10), entry(fieldowners.BeforeFirstApply, 2*maxForeign)}, 1, 1},
		{"many of them", many, maxForeign/1000 + 2, 50},
	} {
		for _, object := range []metav1.Object{&metav1.PartialObjectMetadata{}, &v1alpha1.Devbox{}} {
			object.SetManagedFields(slices.Clone(test.entries))
			if _, err := Cache().DefaultTransform(object); err != nil {
				t.Fatal(err)
			}
			got := object.GetManagedFields()
			if !slices.ContainsFunc(got, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == ours }) {
				t.Errorf("%s: ours is not in the cache", test.reason)
			}
			if _, whole := object.(*metav1.PartialObjectMetadata); whole && (len(got) > test.kept || len(got) < test.least) {
				t.Errorf("%s: %d entries of %d, want %d to %d", test.reason, len(got), len(test.entries), test.least, test.kept)
			}
			size := 0
			for _, e := range got {
				if e.Manager != ours {
					size += e.Size()
				}
			}
			if size > maxForeign {
				t.Errorf("%s: %T: %d bytes of others, want %d at most", test.reason, object, size, maxForeign)
			}
		}
	}
}
