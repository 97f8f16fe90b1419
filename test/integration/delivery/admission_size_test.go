package delivery

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// testMetadataSize: an object of ours has 32 KiB of metadata at most, and 512 entries. One that
// had more before can still be changed, as long as it does not grow.
func testMetadataSize(t *testing.T, g *guarded) {
	const (
		limit    = 32768
		tooLarge = "and may have 32768"
		tooMany  = "and there may be 512"
	)
	box := func(name string, change func(*v1alpha1.Devbox)) *v1alpha1.Devbox {
		return newBox(g.namespace, name, change)
	}
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.Devbox)
		denied string
	}{
		{"none at all", func(*v1alpha1.Devbox) {}, ""},
		{"as many as there may be", notes(most), ""},
		{"one more", notes(most + 1), tooMany},
		{"so many that to add them up takes seconds", notes(20_000), "there are 20000 "},
		{"too many of all together", func(b *v1alpha1.Devbox) {
			notes(most - 2)(b)
			b.Labels = map[string]string{"a": "b"}
			b.Finalizers = []string{"example.com/one", "example.com/two"}
		}, tooMany},
		{"the most", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("x", limit-1)} }, ""},
		{"a byte more", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("x", limit)} }, tooLarge},
		{"few characters, many bytes", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("ä", limit/2)} }, tooLarge},
		{"labels", func(b *v1alpha1.Devbox) {
			b.Labels = map[string]string{}
			for i := range limit / 110 {
				b.Labels[fmt.Sprintf("%d%s", i, strings.Repeat("x", 55))] = strings.Repeat("y", 55)
			}
		}, tooLarge},
		{"finalizers", func(b *v1alpha1.Devbox) {
			for i := range limit / 110 {
				b.Finalizers = append(b.Finalizers, fmt.Sprintf("%s.example.com/%d%s", strings.Repeat("x", 50), i, strings.Repeat("x", 50)))
			}
		}, tooLarge},
		{"owners", func(b *v1alpha1.Devbox) {
			b.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "K", UID: "u", Name: strings.Repeat("x", limit)}}
		}, tooLarge},
	} {
		err := g.person.Create(t.Context(), box("box", test.change), client.DryRunAll)
		switch {
		case test.denied == "" && err != nil:
			t.Errorf("%s: %v", test.reason, err)
		case test.denied != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.denied)):
			t.Errorf("%s: %s, want it refused with %q", test.reason, errorText(err), test.denied)
		}
	}
	large := box("large", func(b *v1alpha1.Devbox) {
		b.Annotations = map[string]string{"a": strings.Repeat("x", 2*limit)}
		b.Finalizers = []string{"example.com/one", "example.com/two"}
	})
	many := box("many", func(b *v1alpha1.Devbox) {
		notes(most)(b)
		b.Annotations["a0"] = strings.Repeat("x", limit)
		b.Finalizers = []string{"example.com/one"}
	})
	g.enforce(t, "Audit", func() bool { return g.person.Create(t.Context(), large.DeepCopy(), client.DryRunAll) == nil })
	for _, object := range []*v1alpha1.Devbox{large, many} {
		if err := g.person.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	g.enforce(t, "Deny", func() bool {
		return g.person.Create(t.Context(), box("more", func(b *v1alpha1.Devbox) { b.Annotations = large.Annotations }), client.DryRunAll) != nil
	})
	for _, test := range []struct {
		reason string
		object *v1alpha1.Devbox
		patch  string
		denied bool
	}{
		{"it grows", large, `{"metadata":{"labels":{"a":"b"}}}`, true},
		{"its spec changes", large, `{"spec":{"state":"Stopped"}}`, false},
		{"a finalizer goes", large, `{"metadata":{"finalizers":["example.com/one"]}}`, false},
		{"the annotation goes", large, `{"metadata":{"annotations":null}}`, false},
		{"one of too many is added", many, `{"metadata":{"labels":{"a":"b"}}}`, true},
		{"one of too many changes", many, `{"metadata":{"annotations":{"a1":"b"}}}`, true},
		{"the spec of what has too many changes", many, `{"spec":{"state":"Stopped"}}`, false},
		{"the finalizer of what has too many goes", many, `{"metadata":{"finalizers":null}}`, false},
		{"what is few enough, and large, grows", many, `{"metadata":{"annotations":{"a1":"b"}}}`, true},
	} {
		before := g.excluded(t)
		err := g.person.Patch(t.Context(), test.object.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(test.patch)))
		if (err != nil) != test.denied {
			t.Errorf("%s, of an object that was too large before: %s", test.reason, errorText(err))
		}
		if alone := !strings.Contains(test.patch, "metadata"); alone != (g.excluded(t) > before) {
			t.Errorf("%s: an update is let through unseen where it leaves the metadata alone, and only there", test.reason)
		}
	}
}

// newBox is a Devbox to be created.
func newBox(namespace, name string, change func(*v1alpha1.Devbox)) *v1alpha1.Devbox {
	box := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.DevboxSpec{Image: "i"}}
	change(box)
	return box
}

// most is how many entries the metadata of a Devbox may have.
const most = 512

// notes sets n annotations.
func notes(n int) func(*v1alpha1.Devbox) {
	return func(b *v1alpha1.Devbox) {
		b.Annotations = map[string]string{}
		for i := range n {
			b.Annotations[fmt.Sprint("a", i)] = ""
		}
	}
}

// excluded is how many requests the policy has let through without adding anything up. The API
// server counts match conditions where one of them is false.
func (g *guarded) excluded(t *testing.T) (n int) {
	t.Helper()
	for line := range strings.Lines(g.kubectl(t, "get", "--raw", "/metrics")) {
		if strings.HasPrefix(line, "apiserver_admission_match_condition_evaluation_seconds_count{") && strings.Contains(line, `"coapply-metadata-size"`) {
			count := 0
			if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &count); err != nil {
				t.Fatal(err)
			}
			n += count
		}
	}
	return n
}

// enforce says what becomes of metadata that is too large, and waits until that is so.
func (g *guarded) enforce(t *testing.T, action string, isSo func() bool) {
	t.Helper()
	g.kubectl(t, "patch", "validatingadmissionpolicybinding", "coapply-metadata-size", "--type=merge", "-p", `{"spec":{"validationActions":["`+action+`"]}}`)
	kit.WaitFor(t, "the binding says "+action, func() string {
		if !isSo() {
			return "not yet"
		}
		return ""
	})
}

// testNamespaces: what has no namespace names none.
func testNamespaces(t *testing.T, g *guarded) {
	for document := range strings.SplitSeq(g.kubectl(t, "kustomize", kit.File("config", "default")), "\n---\n") {
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
