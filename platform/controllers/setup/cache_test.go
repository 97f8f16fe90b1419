package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// TestCache: the cache has the managed fields entries of our own managers.
func TestCache(t *testing.T) {
	var entries []metav1.ManagedFieldsEntry
	for _, manager := range append(fieldmanagers.All().Managers(), "kubectl") {
		entries = append(entries, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:` + manager + `":{}}}`)})
	}
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	if _, err := Cache().DefaultTransform(object); err != nil {
		t.Fatal(err)
	}
	if got, want := len(object.GetManagedFields()), len(fieldmanagers.All().Managers()); got != want {
		t.Errorf("%d entries, want %d", got, want)
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
		bounded := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{ManagedFields: slices.Clone(test.entries)}}
		boundForeign(bounded, fieldmanagers.All().Managers())
		got := bounded.GetManagedFields()
		if len(got) > test.kept || len(got) < test.least {
			t.Errorf("%s: %d entries of %d, want %d to %d", test.reason, len(got), len(test.entries), test.least, test.kept)
		}
		cached := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{ManagedFields: slices.Clone(test.entries)}}
		if _, err := Cache().DefaultTransform(cached); err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string][]metav1.ManagedFieldsEntry{"bounded": got, "cached": cached.GetManagedFields()} {
			if !slices.ContainsFunc(got, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == ours }) {
				t.Errorf("%s: ours is not %s", test.reason, what)
			}
			size := 0
			for _, e := range got {
				if e.Manager != ours {
					size += e.Size()
				}
			}
			if size > maxForeign {
				t.Errorf("%s: %d bytes of others %s, want %d at most", test.reason, size, what, maxForeign)
			}
		}
	}
}
