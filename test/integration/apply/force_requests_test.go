package apply

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// readerFunc is a cache that has one object.
type readerFunc struct {
	client.Reader

	get func(client.Object)
}

func (r readerFunc) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	r.get(object)
	return nil
}

// TestForceTakesTwoRequests: with a cached object, the conflicts of a refused apply are computed, and not asked for once more.
func TestForceTakesTwoRequests(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range map[string]struct {
		cached   func(before, now *corev1.ConfigMap) *corev1.ConfigMap
		requests int
	}{
		"current": {func(_, now *corev1.ConfigMap) *corev1.ConfigMap { return now }, 2},
		// The pinned force is refused, as the object has changed, and then sent once more, pinned to a live read.
		"behind": {func(before, now *corev1.ConfigMap) *corev1.ConfigMap {
			before.ManagedFields, before.Data = now.ManagedFields, now.Data
			return before
		}, 4},
		"before-the-rival": {func(before, _ *corev1.ConfigMap) *corev1.ConfigMap { return before }, 3},
		"without-managed-fields": {func(_, now *corev1.ConfigMap) *corev1.ConfigMap {
			now.ManagedFields = nil
			return now
		}, 3},
		"another-object": {func(_, now *corev1.ConfigMap) *corev1.ConfigMap {
			now.UID, now.ResourceVersion = "another", "2"
			return now
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			cached := &corev1.ConfigMap{}
			us, err := apply.New(c, apply.Config{
				FieldManager: "us", LiveReader: c, Policy: apply.OnConflict(apply.Force),
				Steady: kit.NewSteadyState(t, kit.Server(t), readerFunc{get: func(into client.Object) { cached.DeepCopyInto(into.(*corev1.ConfigMap)) }}), //nolint:forcetypeassert // all are
			})
			if err != nil {
				t.Fatal(err)
			}
			intent := apply.Intent{Config: corev1ac.ConfigMap(name, namespace).WithData(data("ours", "a"))}
			mustApply(t, us, intent)
			before := readConfigMap(t, c, namespace, name)
			rival := corev1ac.ConfigMap(name, namespace).WithData(data("theirs", "a", "b"))
			if err := c.Apply(t.Context(), rival, client.FieldOwner("rival"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
			cached = test.cached(before, readConfigMap(t, c, namespace, name))
			outcome := mustApply(t, us, apply.Intent{Config: corev1ac.ConfigMap(name, namespace).WithData(data("ours again", "a"))})
			if outcome.Requests != test.requests || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Theirs != "theirs" {
				t.Errorf("%+v, want %d requests", outcome, test.requests)
			}
			if got := readConfigMap(t, c, namespace, name).Data; got["a"] != "ours again" || got["b"] != "theirs" {
				t.Errorf("the data is %v", got)
			}
		})
	}
}

// TestForceIsNotJudgedByATypedRead: the Go type of a License shows 1Gi where the API server has 1024Mi, so the policy decides by a live read.
func TestForceIsNotJudgedByATypedRead(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	name := kit.NewNamespace(t, c)
	license := func(memory string) *unstructured.Unstructured {
		object := kit.NewUnstructured(v1alpha1.SchemeGroupVersion.String(), "License", client.ObjectKey{Name: name})
		object.Object["spec"] = map[string]any{"limits": map[string]any{"memory": memory}}
		return object
	}
	for _, who := range []string{"rival", "us"} {
		if err := kit.ApplyTo(t.Context(), c, license("1024Mi"), "", client.ApplyOptions{FieldManager: who}); err != nil {
			t.Fatal(err)
		}
	}
	cached := &v1alpha1.License{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, cached); err != nil {
		t.Fatal(err)
	}
	us, err := apply.New(c, apply.Config{
		FieldManager: "us", LiveReader: c,
		Steady: kit.NewSteadyState(t, kit.Server(t), readerFunc{get: func(into client.Object) { cached.DeepCopyInto(into.(*v1alpha1.License)) }}, //nolint:forcetypeassert // all are
			v1alpha1.SchemeGroupVersion),
		Policy: apply.OnConflict(apply.Force),
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome := mustApply(t, us, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(license("2Gi"))})
	if outcome.Requests != 3 || len(outcome.Conflicts) != 1 || outcome.Conflicts[0].Theirs != "1024Mi" {
		t.Errorf("%+v, want 3 requests and a conflict with 1024Mi", outcome)
	}
}

func mustApply(t *testing.T, applier *apply.Applier, intent apply.Intent) apply.Outcome {
	t.Helper()
	outcome, err := applier.Apply(t.Context(), intent)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func readConfigMap(t *testing.T, c client.Client, namespace, name string) *corev1.ConfigMap {
	t.Helper()
	object := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// TestForceWhenAListBecomesAtomic: the items of a list have owners of their own when the object and the schema are read. Then the list becomes
// atomic, so that a force of one item would take the whole list. The API server's refusal names the list, which the policy does not force.
func TestForceWhenAListBecomesAtomic(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	kind := schema.GroupVersionKind{Group: "swap.coapply.dev", Version: "v1", Kind: "Swapped"}
	definition := swappedCRD(kind)
	if _, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition}}); err != nil {
		t.Fatal(err)
	}
	name := client.ObjectKey{Namespace: kit.NewNamespace(t, c), Name: "one"}
	config := func(items ...any) client.Object {
		object := kit.NewUnstructured(kind.GroupVersion().String(), kind.Kind, name)
		object.Object["spec"] = map[string]any{"items": items}
		return object
	}
	applied := func(who string, object client.Object, options ...client.PatchOption) error {
		return c.Patch(t.Context(), object, client.Apply, append(options, client.FieldOwner(who))...) //nolint:staticcheck // see kit.ApplyTo
	}
	item := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	if err := applied("rival", config(item("a", "theirs"), item("b", "theirs"))); err != nil {
		t.Fatal(err)
	}
	reader, err := client.New(kit.Server(t), client.Options{Scheme: kit.Scheme}) // its requests are not counted, as those of a cache are not
	if err != nil {
		t.Fatal(err)
	}
	us, err := apply.New(c, apply.Config{
		FieldManager: "us", LiveReader: c, Steady: kit.NewSteadyState(t, kit.Server(t), reader, kind.GroupVersion()),
		Policy: apply.OnConflict(apply.Reject).At(`.spec.items[name="a"].value`, apply.Force),
	})
	if err != nil {
		t.Fatal(err)
	}
	intent := func(value string) apply.Intent {
		object := kit.NewUnstructured(kind.GroupVersion().String(), kind.Kind, name)
		object.Object["spec"] = map[string]any{"items": []any{item("a", value)}}
		return apply.Intent{Config: client.ApplyConfigurationFromUnstructured(object)}
	}
	if outcome := mustApply(t, us, intent("ours")); outcome.Requests != 2 {
		t.Errorf("before: %+v, want 2 requests", outcome)
	}
	if err := applied("rival", config(item("a", "theirs"), item("b", "theirs")), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	live := &apiextensionsv1.CustomResourceDefinition{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(definition), live); err != nil {
		t.Fatal(err)
	}
	items := live.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["items"]
	items.XListType, items.XListMapKeys = new("atomic"), nil
	live.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["items"] = items
	if err := c.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the list is atomic", func() string {
		err := applied("probe", config(item("c", "x")), client.DryRunAll)
		if apierrors.IsConflict(err) {
			return ""
		}
		return "no conflict"
	})
	_, err = us.Apply(t.Context(), intent("ours"))
	if conflict := (*apply.ConflictError)(nil); !errors.As(err, &conflict) || conflict.Conflicts[0].ServerPath != ".spec.items" {
		t.Errorf("the error is %v, want a conflict on .spec.items", err)
	}
	object := kit.NewUnstructured(kind.GroupVersion().String(), kind.Kind, name)
	if err := c.Get(t.Context(), name, object); err != nil {
		t.Fatal(err)
	}
	if spec, _ := object.Object["spec"].(map[string]any); len(spec["items"].([]any)) != 2 { //nolint:forcetypeassert // a list
		t.Errorf("the items are %v, want those of the rival", spec["items"])
	}
}

func swappedCRD(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	item := apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": text, "value": text}}
	items := apiextensionsv1.JSONSchemaProps{
		Type: "array", XListType: new("map"), XListMapKeys: []string{"name"}, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item},
	}
	definition := kit.Widgets(kind)
	definition.Name = "swappeds." + kind.Group
	definition.Spec.Names.Plural = "swappeds"
	definition.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"items": items}},
	}}
	return definition
}
