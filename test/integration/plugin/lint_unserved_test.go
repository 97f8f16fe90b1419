package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

const unservedGroup = "lint.coapply.dev"

// TestLintUnserved takes a version away from a definition in two steps. While it is
// only not served, writes do no harm, an apply brings the applier's entry into the
// served version, and served again an Update entry can be migrated. Once the
// definition does not have it, an apply is refused and a plain write empties the
// managed fields, or from Kubernetes 1.37 on leaves them as they were.
func TestLintUnserved(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	w := lintWorld{t, c, kit.NewNamespace(t, c)}
	installed, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{kit.TwoVersions(unservedGroup)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: installed}); err != nil {
			t.Error(err)
		}
	})
	pair := func(version, name string, spec map[string]any) *unstructured.Unstructured {
		return kit.ObjectOf(unservedGroup+"/"+version, "Pair", w.namespace, name, spec)
	}
	applied := func(version, name, manager string) error {
		return c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(pair(version, name, map[string]any{"a": filler})), client.FieldOwner(manager))
	}
	for _, name := range []string{"not-served", "gone"} {
		if err := c.Create(t.Context(), pair("v1alpha1", name, map[string]any{"former": "x"}), client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
		if err := applied("v1alpha1", name, "us"); err != nil {
			t.Fatal(err)
		}
	}
	ref := func(name string) apply.ObjectRef {
		return kit.RefTo(schema.GroupVersionKind{Group: unservedGroup, Version: "v1", Kind: "Pair"}, w.namespace, name)
	}
	if found := w.lint(ref("not-served")); len(found) > 0 {
		t.Errorf("while it is served: %q", found)
	}
	ofOld := "unserved-version old/Update 1: kubectl fieldowners migrate TYPE/NAME --from old --to "
	both := []string{ofOld + "MANAGER", "unserved-version us/Apply 1: kubectl apply --server-side --field-manager us -f FILE"}
	kit.ChangeCRD(t, c, kit.TwoVersions(unservedGroup), func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false })
	w.patch(kit.LiveAt(t, c, ref("not-served")), `{"spec":{"b":"2"}}`, "someone")
	if diff := cmp.Diff(both, w.lint(ref("not-served"))); diff != "" {
		t.Errorf("not served, after a plain write (-want +got):\n%s", diff)
	}
	if err := applied("v1", "not-served", "us"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{ofOld + "us"}, w.lint(ref("not-served"))); diff != "" {
		t.Errorf("not served, after the applier applied (-want +got):\n%s", diff)
	}
	kit.ChangeCRD(t, c, kit.TwoVersions(unservedGroup), func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[:1] })
	if diff := cmp.Diff(both, w.lint(ref("gone"))); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	for _, manager := range []string{"us", "another"} {
		if err := applied("v1", "gone", manager); err == nil || !strings.Contains(err.Error(), "invalid group/version") {
			t.Errorf("an apply of %s is not refused: %v", manager, err)
		}
	}
	live := kit.LiveAt(t, c, ref("gone"))
	w.patch(live, `{"spec":{"b":"2"}}`, "someone")
	if left := live.GetManagedFields(); kit.ServerAtLeast(t, "1.37.0") != (len(left) > 0) {
		t.Errorf("a plain write left %v: then the message is wrong", left)
	}
}
