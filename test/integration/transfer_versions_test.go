package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/apply"
)

func object(apiVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "spec": spec,
		"metadata": map[string]any{"namespace": namespace, "name": name},
	}}
}

// TestMigrateVersions migrates an autoscaler that was written in autoscaling/v1 and
// autoscaling/v2. What both versions show alike moves; the field that v2 has under
// another name stays, with its value, and its reason is told.
func TestMigrateVersions(t *testing.T) {
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	hpa := object("autoscaling/v1", "HorizontalPodAutoscaler", namespace, "a", map[string]any{
		"minReplicas": int64(1), "maxReplicas": int64(5), "targetCPUUtilizationPercentage": int64(80),
		"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
	})
	if err := c.Create(t.Context(), hpa, client.FieldOwner("old")); err != nil {
		t.Fatal(err)
	}
	ref := refTo(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), namespace, "a")
	v2 := liveAt(t, c, ref)
	patch := client.RawPatch(types.MergePatchType, []byte(
		`{"spec":{"maxReplicas":6,"behavior":{"scaleDown":{"stabilizationWindowSeconds":7}}}}`)) //nolint:misspell // the API's
	if err := c.Patch(t.Context(), v2, patch, client.FieldOwner("old")); err != nil {
		t.Fatal(err)
	}
	before := liveAt(t, c, ref)
	us := newApplier(t, c, "us", apply.Policy{})
	transfer, err := us.Migrate(t.Context(), ref, apply.From{Manager: "old"})
	undo := transferred(t, transfer, err)
	after := liveAt(t, c, ref)
	var kept []string
	for _, k := range transfer.Unmoved() {
		kept = append(kept, k.String())
	}
	want := []string{
		".spec.scaleTargetRef of old/Update: it is owned as a whole in autoscaling/v1, and nobody can tell whether it is so in autoscaling/v2",
		".spec.targetCPUUtilizationPercentage of old/Update: the object has no such field in autoscaling/v2",
	}
	if diff := cmp.Diff(want, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	want = []string{".spec.scaleTargetRef old/Update autoscaling/v1", ".spec.targetCPUUtilizationPercentage old/Update autoscaling/v1"}
	left := slices.DeleteFunc(fieldsBy(t, after.GetManagedFields()), func(line string) bool { return !strings.Contains(line, " old/") })
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left with old (-want +got):\n%s\n%v", diff, transfer)
	}
	if diff := cmp.Diff(withoutManagedFields(before), withoutManagedFields(after)); diff != "" {
		t.Errorf("migrating changed values:\n%s", diff)
	}
	less := object("autoscaling/v2", "HorizontalPodAutoscaler", namespace, "a", map[string]any{
		"maxReplicas": int64(6), "scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
	})
	if _, err := us.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(less)}); err != nil {
		t.Fatal(err)
	}
	live := liveAt(t, c, ref)
	seconds, _, _ := unstructured.NestedInt64(live.Object, "spec", "behavior", "scaleDown", "stabilizationWindowSeconds") //nolint:misspell // the API's
	metrics, _, _ := unstructured.NestedSlice(live.Object, "spec", "metrics")
	if seconds == 7 || len(metrics) != 1 {
		t.Errorf("what we gave up stays (%d s), or what stayed old's is gone (%v)", seconds, metrics)
	}
	// The apply gave up minReplicas and what belongs to it: an undo gives back the rest.
	if _, err := undo.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	restored := fieldsBy(t, liveAt(t, c, ref).GetManagedFields())
	for _, line := range []string{".spec.maxReplicas old/Update autoscaling/v2", ".spec.scaleTargetRef old/Update autoscaling/v1"} {
		if !slices.Contains(restored, line) {
			t.Errorf("not given back: %s\n%s", line, strings.Join(restored, "\n"))
		}
	}
}

// TestMigrateVersionsOfCRD migrates a custom resource written in two versions. While
// the former one is served, what is equal moves. Once it is not, nobody can look at
// the fields: they stay. Once the definition does not have it at all, any write would
// make the API server drop all managed fields of the object: nothing is written.
func TestMigrateVersionsOfCRD(t *testing.T) {
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	crd := twoVersions()
	installed, err := envtest.InstallCRDs(server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(server(t), envtest.CRDInstallOptions{CRDs: installed}); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"served", "not-served", "gone"} {
		former := object("transfer.coapply.dev/v1alpha1", "Pair", namespace, name, map[string]any{"a": "1", "former": "x"})
		if err := c.Create(t.Context(), former, client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
		later := object("transfer.coapply.dev/v1", "Pair", namespace, name, map[string]any{"b": "2"})
		if err := c.Patch(t.Context(), later, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"b":"2"}}`)), client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
	}
	kind := schema.GroupVersionKind{Group: "transfer.coapply.dev", Version: "v1", Kind: "Pair"}
	// migrate gives the owners afterwards, and what was said.
	migrate := func(name string) (owners []string, said string) {
		ref := refTo(kind, namespace, name)
		transfer, err := newApplier(t, newClient(t, server(t)), "us", apply.Policy{}).Migrate(t.Context(), ref, apply.From{Manager: "old"})
		if err != nil {
			t.Fatal(err)
		}
		if said = transfer.String(); len(transfer.Moves()) == 0 {
			t.Errorf("nothing to move: %s", said)
		}
		if _, err = transfer.Do(t.Context()); err != nil {
			said = err.Error()
		}
		return fieldsBy(t, liveAt(t, c, ref).GetManagedFields()), said
	}
	for _, step := range []struct {
		name, reason string
		change       func(*apiextensionsv1.CustomResourceDefinition)
		want         []string
	}{
		{"served", "former of old/Update: the object has no such field in transfer.coapply.dev/v1", nil,
			[]string{".spec us/Apply v1", ".spec.a us/Apply v1", ".spec.b us/Apply v1", ".spec.former old/Update v1alpha1"}},
		{"not-served", "v1alpha1 is not served any more",
			func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[1].Served = false },
			[]string{".spec old/Update v1alpha1", ".spec.a old/Update v1alpha1", ".spec.b us/Apply v1", ".spec.former old/Update v1alpha1"}},
		{"gone", "nothing was written, as the API server would not store the managed fields as sent, perhaps because it has no transfer.coapply.dev/v1alpha1 any more",
			func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[:1] },
			[]string{".spec old/Update v1alpha1", ".spec.a old/Update v1alpha1", ".spec.b old/Update v1", ".spec.former old/Update v1alpha1"}},
	} {
		if step.change != nil {
			changeCRD(t, c, step.change)
		}
		owners, said := migrate(step.name)
		for i := range owners {
			owners[i] = strings.Replace(owners[i], kind.Group+"/", "", 1)
		}
		if diff := cmp.Diff(step.want, owners); diff != "" || !strings.Contains(said, step.reason) {
			t.Errorf("%s: owners (-want +got):\n%s\n%v", step.name, diff, said)
		}
	}
	plain := liveAt(t, c, refTo(kind, namespace, "gone"))
	if err := c.Patch(t.Context(), plain, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"b":"3"}}`)), client.FieldOwner("someone")); err != nil {
		t.Fatal(err)
	}
	if left := fieldsBy(t, plain.GetManagedFields()); len(left) != 0 {
		t.Errorf("a plain write left %q: then the refusal is needless", left)
	}
}

// changeCRD changes the definition and waits until the API server serves it so.
func changeCRD(t *testing.T, c client.Client, change func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	crd := twoVersions()
	withCRDs, err := client.New(server(t), client.Options{Scheme: crdScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := withCRDs.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	change(crd)
	if err := withCRDs.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	probe := object("transfer.coapply.dev/v1alpha1", "Pair", "default", "probe", map[string]any{})
	for range 200 {
		if err := c.Create(t.Context(), probe, client.DryRunAll); err != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("v1alpha1 is still served")
}

func crdScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// twoVersions defines a kind whose field former is in v1alpha1 only.
func twoVersions() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	version := func(name string, storage bool, fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {Type: "object", Properties: fields}},
			}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "pairs.transfer.coapply.dev"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "transfer.coapply.dev", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "pairs", Singular: "pair", Kind: "Pair", ListKind: "PairList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
				version("v1", true, map[string]apiextensionsv1.JSONSchemaProps{"a": text, "b": text}),
				version("v1alpha1", false, map[string]apiextensionsv1.JSONSchemaProps{"a": text, "b": text, "former": text}),
			},
		},
	}
}
