package ownership

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

// TestMigrateVersions migrates an autoscaler that was written in autoscaling/v1 and
// autoscaling/v2. What both versions show alike moves; the field that v2 has under
// another name stays, with its value, and its reason is told.
func TestMigrateVersions(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	hpa := kit.ObjectOf("autoscaling/v1", "HorizontalPodAutoscaler", namespace, "a", map[string]any{
		"minReplicas": int64(1), "maxReplicas": int64(5), "targetCPUUtilizationPercentage": int64(80),
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
	})
	if err := c.Create(t.Context(), hpa, client.FieldOwner("old")); err != nil {
		t.Fatal(err)
	}
	ref := kit.RefTo(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), namespace, "a")
	v2 := kit.LiveAt(t, c, ref)
	patch := client.RawPatch(types.MergePatchType, []byte(
		`{"spec":{"maxReplicas":6,"behavior":{"scaleDown":{"stabilizationWindowSeconds":7}}}}`)) //nolint:misspell // the API's
	if err := c.Patch(t.Context(), v2, patch, client.FieldOwner("old")); err != nil {
		t.Fatal(err)
	}
	before := kit.LiveAt(t, c, ref)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	transfer, err := ownership.Migrate(t.Context(), us, ref, ownership.From{Manager: "old"})
	undo := kit.Transferred(t, transfer, err)
	after := kit.LiveAt(t, c, ref)
	var kept []string
	for _, k := range transfer.Unmoved() {
		kept = append(kept, k.String())
	}
	want := []string{
		".spec.scaleTargetRef of old/Update: the field is owned as a whole in autoscaling/v1, but perhaps not in autoscaling/v2",
		".spec.targetCPUUtilizationPercentage of old/Update: the object has no such field in autoscaling/v2",
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	want = []string{".spec.scaleTargetRef old/Update autoscaling/v1", ".spec.targetCPUUtilizationPercentage old/Update autoscaling/v1"}
	left := slices.DeleteFunc(kit.FieldsBy(t, after.GetManagedFields()), func(line string) bool { return !strings.Contains(line, " old/") })
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left with old (-want +got):\n%s\n%v", diff, transfer)
	}
	if diff := cmp.Diff(kit.WithoutManagedFields(before), kit.WithoutManagedFields(after)); diff != "" {
		t.Errorf("migrating changed values:\n%s", diff)
	}
	less := kit.ObjectOf("autoscaling/v2", "HorizontalPodAutoscaler", namespace, "a", map[string]any{
		"maxReplicas": int64(6), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
	})
	if _, err := us.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(less)}); err != nil {
		t.Fatal(err)
	}
	live := kit.LiveAt(t, c, ref)
	seconds, _, _ := unstructured.NestedInt64(live.Object, "spec", "behavior", "scaleDown", "stabilizationWindowSeconds") //nolint:misspell // the API's
	metrics, _, _ := unstructured.NestedSlice(live.Object, "spec", "metrics")
	if seconds == 7 || len(metrics) != 1 {
		t.Errorf("what we gave up stays (%d s), or what stayed old's is gone (%v)", seconds, metrics)
	}
	// The apply gave up minReplicas and what belongs to it: an undo gives back the rest.
	if _, err := undo.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored := kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields())
	for _, line := range []string{".spec.maxReplicas old/Update autoscaling/v2", ".spec.scaleTargetRef old/Update autoscaling/v1"} {
		if !slices.Contains(restored, line) {
			t.Errorf("not given back: %s\n%s", line, strings.Join(restored, "\n"))
		}
	}
}

// TestMigrateVersionsOfCRD migrates a custom resource written in two versions. While
// the former one is served, what is equal moves. Once it is not, nobody can look at
// the fields: they stay. Once the definition does not have it at all, any write would
// make the API server drop all managed fields of the object, or from Kubernetes 1.37 on
// keep them as they were, without what was moved: nothing is written.
func TestMigrateVersionsOfCRD(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	crd := kit.TwoVersions("transfer.coapply.dev")
	installed, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: installed}); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"served", "not-served", "gone"} {
		former := kit.ObjectOf("transfer.coapply.dev/v1alpha1", "Pair", namespace, name, map[string]any{"a": "1", "former": "x"})
		if err := c.Create(t.Context(), former, client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
		later := kit.ObjectOf("transfer.coapply.dev/v1", "Pair", namespace, name, map[string]any{"b": "2"})
		if err := c.Patch(t.Context(), later, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"b":"2"}}`)), client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
	}
	kind := schema.GroupVersionKind{Group: "transfer.coapply.dev", Version: "v1", Kind: "Pair"}
	// migrate gives the owners afterwards, and what was said.
	migrate := func(name string) (owners []string, said string) {
		ref := kit.RefTo(kind, namespace, name)
		transfer, err := ownership.Migrate(t.Context(), kit.NewApplier(t, kit.NewClient(t, kit.Server(t)), "us", apply.Policy{}), ref, ownership.From{Manager: "old"})
		if err != nil {
			t.Fatal(err)
		}
		if said = transfer.String(); len(transfer.Moves()) == 0 {
			t.Errorf("nothing to move: %s", said)
		}
		if _, err = transfer.Do(t.Context()); err != nil {
			said = err.Error()
		}
		return kit.FieldsBy(t, kit.LiveAt(t, c, ref).GetManagedFields()), said
	}
	for _, step := range []struct {
		name, reason string
		change       func(*apiextensionsv1.CustomResourceDefinition)
		want         []string
	}{
		{"served", "former of old/Update: the object has no such field in transfer.coapply.dev/v1", nil,
			[]string{".spec us/Apply v1", ".spec.a us/Apply v1", ".spec.b us/Apply v1", ".spec.former old/Update v1alpha1"}},
		{"not-served", "v1alpha1 is no longer served",
			func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false },
			[]string{".spec old/Update v1alpha1", ".spec.a old/Update v1alpha1", ".spec.b us/Apply v1", ".spec.former old/Update v1alpha1"}},
		{"gone", "nothing was written: in a dry run, the API server did not store the managed fields as sent, perhaps because it no longer has the apiVersion transfer.coapply.dev/v1alpha1",
			func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[:1] },
			[]string{".spec old/Update v1alpha1", ".spec.a old/Update v1alpha1", ".spec.b old/Update v1", ".spec.former old/Update v1alpha1"}},
	} {
		if step.change != nil {
			kit.ChangeCRD(t, c, crd, step.change)
		}
		owners, said := migrate(step.name)
		for i := range owners {
			owners[i] = strings.Replace(owners[i], kind.Group+"/", "", 1)
		}
		if diff := cmp.Diff(step.want, owners); diff != "" || !strings.Contains(said, step.reason) {
			t.Errorf("%s: owners (-want +got):\n%s\n%v", step.name, diff, said)
		}
	}
	plain := kit.LiveAt(t, c, kit.RefTo(kind, namespace, "gone"))
	var want []string
	if kit.ServerAtLeast(t, "1.37.0") {
		want = kit.FieldsBy(t, plain.GetManagedFields())
	}
	if err := c.Patch(t.Context(), plain, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"b":"3"}}`)), client.FieldOwner("someone")); err != nil {
		t.Fatal(err)
	}
	if left := kit.FieldsBy(t, plain.GetManagedFields()); !slices.Equal(left, want) {
		t.Errorf("a plain write left %q, want %q: then the refusal is needless", left, want)
	}
}
