package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/api/v1alpha1"
)

// testMetadataSize: an object of ours has 32 KiB of metadata at most. One that had more
// before can still be changed, as long as it does not grow.
func testMetadataSize(t *testing.T, g *guarded) {
	box := func(name string, change func(*v1alpha1.Devbox)) *v1alpha1.Devbox {
		box := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: name}, Spec: v1alpha1.DevboxSpec{Image: "i"}}
		change(box)
		return box
	}
	const limit = 32768
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.Devbox)
		denied bool
	}{
		{"none at all", func(*v1alpha1.Devbox) {}, false},
		{"the most", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("x", limit-1)} }, false},
		{"a byte more", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("x", limit)} }, true},
		{"few characters, many bytes", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("ä", limit/2)} }, true},
		{"labels", func(b *v1alpha1.Devbox) {
			b.Labels = map[string]string{}
			for i := range limit / 60 {
				b.Labels[fmt.Sprintf("%d%s", i, strings.Repeat("x", 55))] = "yes"
			}
		}, true},
		{"finalizers", func(b *v1alpha1.Devbox) {
			for i := range limit / 60 {
				b.Finalizers = append(b.Finalizers, fmt.Sprintf("example.com/%d%s", i, strings.Repeat("x", 50)))
			}
		}, true},
		{"owners", func(b *v1alpha1.Devbox) {
			b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", UID: "u", Name: strings.Repeat("x", limit)}}
		}, true},
	} {
		err := g.person.Create(t.Context(), box("box", test.change), client.DryRunAll)
		switch {
		case !test.denied && err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case test.denied && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "and may have 32768")):
			t.Errorf("%s: %s, want it refused with the limit", test.reason, errorText(err))
		}
	}
	large := box("large", func(b *v1alpha1.Devbox) {
		b.Annotations = map[string]string{"a": strings.Repeat("x", 2*limit)}
		b.Finalizers = []string{"example.com/one", "example.com/two"}
	})
	g.enforce(t, "Audit", func() bool { return g.person.Create(t.Context(), large.DeepCopy(), client.DryRunAll) == nil })
	if err := g.person.Create(t.Context(), large); err != nil {
		t.Fatal(err)
	}
	g.enforce(t, "Deny", func() bool {
		return g.person.Create(t.Context(), box("more", func(b *v1alpha1.Devbox) { b.Annotations = large.Annotations }), client.DryRunAll) != nil
	})
	for _, test := range []struct {
		reason, patch string
		denied        bool
	}{
		{"it grows", `{"metadata":{"labels":{"a":"b"}}}`, true},
		{"its spec changes", `{"spec":{"state":"Stopped"}}`, false},
		{"a finalizer goes", `{"metadata":{"finalizers":["example.com/one"]}}`, false},
		{"the annotation goes", `{"metadata":{"annotations":null}}`, false},
	} {
		err := g.person.Patch(t.Context(), large, client.RawPatch(types.MergePatchType, []byte(test.patch)))
		if (err != nil) != test.denied {
			t.Errorf("%s, of an object that was too large before: %s", test.reason, errorText(err))
		}
	}
}

// enforce says what becomes of metadata that is too large, and waits until that is so.
func (g *guarded) enforce(t *testing.T, action string, isSo func() bool) {
	t.Helper()
	g.kubectl(t, "patch", "validatingadmissionpolicybinding", "coapply-metadata-size", "--type=merge", "-p", `{"spec":{"validationActions":["`+action+`"]}}`)
	waitFor(t, "the binding says "+action, func() string {
		if !isSo() {
			return "not yet"
		}
		return ""
	})
}

// testNamespaces: what has no namespace names none.
func testNamespaces(t *testing.T, g *guarded) {
	for document := range strings.SplitSeq(g.kubectl(t, "kustomize", filepath.Join("..", "..", "config", "default")), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		namespaced, err := g.manager.IsObjectNamespaced(object)
		if err != nil {
			t.Fatal(err)
		}
		if namespaced != (object.GetNamespace() != "") {
			t.Errorf("%s %s has the namespace %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
	}
}
