package plugin

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// TestKeepOwnInACache reads one object in each of the forms that a cache keeps. Of the
// others, the one who shares a field of ours is still to be seen.
func TestKeepOwnInACache(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for manager, data := range map[string]map[string]string{
		"them": {"them": "v"}, "us": {"us": "v", "both": "v"}, "others": {"others": "v"}, "sharer": {"sharer": "v", "both": "v"},
	} {
		config := corev1ac.ConfigMap("kept", namespace).WithData(data)
		if err := c.Apply(t.Context(), config, client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}
	cached := kit.StartCache(t, kit.Server(t), cache.Options{
		DefaultTransform: fieldowners.KeepOwn("us"), DefaultNamespaces: map[string]cache.Config{namespace: {}},
	})
	free, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	free.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	want := []string{"sharer/Apply .data.both", "sharer/Apply .data.sharer", "us/Apply .data.both", "us/Apply .data.us"}
	for _, object := range []client.Object{&corev1.ConfigMap{}, free, metadata} {
		if err := cached.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "kept"}, object); err != nil {
			t.Fatal(err)
		}
		ownership, err := fieldowners.Parse(object.GetManagedFields())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, entry := range ownership.Entries() {
			for _, path := range entry.Leaves() {
				got = append(got, entry.Manager.String()+" "+path.String())
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got):\n%s", object, diff)
		}
	}
}
