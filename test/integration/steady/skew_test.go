package steady

import (
	"encoding/json"
	"fmt"
	"testing"

	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

// evictionOfSteady is a kind that the server has more fields of than k8s.io/api: a custom
// resource in place of a kind that servers do not serve yet.
func evictionOfSteady() steadyKind {
	return steadyKind{base: "spec: {intent: base}", forms: []steadyForm{{
		GroupVersionKind: lifecyclev1alpha1.SchemeGroupVersion.WithKind("EvictionRequest"),
		shape:            steadyShape(evictionShape.Fields),
		lacks:            []string{"newer", "labels", "conditions"},
	}}}
}

var anyText = map[string]any{"type": "string"}

var evictionShape = model.ObjectOf(map[string]*model.Shape{
	"spec": model.ObjectOf(map[string]*model.Shape{
		"requester": model.Words,
		"intent":    model.Words,
		"newer":     model.Counts,
		"labels":    mapOf(model.Words, "a", "b.c"), // newer, too
		"target": model.ObjectOf(map[string]*model.Shape{"pod": model.ObjectOf(map[string]*model.Shape{
			"name": model.Words, "uid": model.Words, "newer": model.Counts})}),
	}),
	"status": model.ObjectOf(map[string]*model.Shape{
		"observedGeneration": model.Counts,
		"newer":              model.Words,
		"conditions": {
			Samples: []any{
				[]any{map[string]any{"type": "a"}}, []any{map[string]any{"type": "a", "newer": "one"}}, []any{map[string]any{"type": "a", "newer": "two"}},
			},
			Schema: map[string]any{"type": "array", "x-kubernetes-list-type": "atomic", "items": map[string]any{
				"type": "object", "properties": map[string]any{"type": anyText, "status": anyText, "reason": anyText, "message": anyText, "newer": anyText,
					"lastTransitionTime": map[string]any{"type": "string", "nullable": true}}}},
		},
	}),
})

// TestSteadySkew: where the server has fields that the Go type of a read lacks, intents that
// set, change or remove them are sent, and land.
func TestSteadySkew(t *testing.T) {
	t.Parallel()
	config := steadyConfig(t)
	today, older := kit.NewClient(t, config), newOlderClient(t, config)
	eviction, deployment := evictionOfSteady().forms[0].GroupVersionKind, deploymentOfSteady().forms[0].GroupVersionKind
	pod := func(of, beside string) string {
		return fmt.Sprintf("selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: web, image: i%s}]%s}}", of, beside)
	}
	for name, c := range map[string]struct {
		client.Client

		kind  schema.GroupVersionKind
		specs []string // without the field, with it, with another value, and without it
	}{
		"a field": {today, eviction,
			[]string{"{requester: x}", "{requester: x, newer: 1}", "{requester: x, newer: 2}"}},
		"a field of a field": {today, eviction,
			[]string{"{target: {pod: {name: x}}}", "{target: {pod: {name: x, newer: 1}}}", "{target: {pod: {name: x, newer: 2}}}"}},
		"a map": {today, eviction,
			[]string{"{requester: x}", "{requester: x, labels: {a: one}}", "{requester: x, labels: {a: two}}"}},
		"of a custom kind": {older, steadySample,
			[]string{"{title: a}", "{title: a, nested: {deep: {er: one}}}", "{title: a, nested: {deep: {er: two}}}"}},
		"of a custom kind, a value of a map": {older, steadySample,
			[]string{"{things: {cup: {color: one}}}", "{things: {cup: {color: one, price: 1}}}", "{things: {cup: {color: one, price: 2}}}"}},
		"of a custom kind, an item": {older, steadySample,
			[]string{"{items: [{name: web}]}", "{items: [{name: web, opts: {k2: one}}]}", "{items: [{name: web, opts: {k2: two}}]}"}},
		"of a custom kind, an atomic list": {older, steadySample,
			[]string{"{steps: [{do: x}]}", "{steps: [{do: x, by: a}]}", "{steps: [{do: x, by: b}]}"}},
		"of a kind of the server": {older, deployment,
			[]string{"{" + pod("", "") + "}", "{minReadySeconds: 1, " + pod("", "") + "}", "{minReadySeconds: 2, " + pod("", "") + "}"}},
		"of a kind of the server, an item": {older, deployment,
			[]string{"{" + pod("", "") + "}", "{" + pod(", workingDir: /a", "") + "}", "{" + pod(", workingDir: /b", "") + "}"}},
		"of a kind of the server, an atomic list": {older, deployment,
			[]string{"{" + pod("", ", tolerations: [{key: a}]") + "}", "{" + pod("", ", tolerations: [{key: a, value: x}]") + "}",
				"{" + pod("", ", tolerations: [{key: a, value: z}]") + "}"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			applier, err := apply.New(c, apply.Config{FieldManager: kit.OurManager, LiveReader: c, Steady: kit.NewSteadyState(t, config, c)})
			if err != nil {
				t.Fatal(err)
			}
			live := kit.NewUnstructured(c.kind.GroupVersion().String(), c.kind.Kind, client.ObjectKey{Namespace: kit.NewNamespace(t, today), Name: "skewed"})
			for _, spec := range append(c.specs, c.specs[0], c.specs[2], c.specs[1]) {
				for range 2 { // judged by the read of before, and by one of what landed
					skewedApply(t, c, applier, live, spec)
				}
			}
		})
	}
}

// skewedApply applies a spec, judged by a typed read, and wants the object to have it.
func skewedApply(t *testing.T, c client.Client, applier *apply.Applier, live *unstructured.Unstructured, spec string) {
	t.Helper()
	var wanted map[string]any
	if err := yaml.Unmarshal([]byte(spec), &wanted); err != nil {
		t.Fatal(err)
	}
	config := live.DeepCopy()
	config.Object = map[string]any{"apiVersion": live.GetAPIVersion(), "kind": live.GetKind(), "spec": wanted,
		"metadata": map[string]any{"name": live.GetName(), "namespace": live.GetNamespace()}}
	outcome, err := applier.Apply(t.Context(), apply.Intent{Config: client.ApplyConfigurationFromUnstructured(config), Read: typedRead(t, c, live)})
	if err != nil {
		t.Fatal(spec, err)
	}
	now, after := live.DeepCopy(), live.DeepCopy()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(live), now); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(config.Object)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Patch(t.Context(), after, client.RawPatch(types.ApplyPatchType, raw), client.FieldOwner(kit.OurManager)); err != nil {
		t.Fatal(err)
	}
	if changed, err := differenceOf(now, after); err != nil || changed != "" {
		t.Errorf("%s: the outcome is %s, and it had not landed: %s, %v", spec, outcome.Action, changed, err)
	}
}

// typedRead is the object as the client's scheme knows it, or nil where there is none.
func typedRead(t *testing.T, c client.Client, live *unstructured.Unstructured) client.Object {
	t.Helper()
	known, err := c.Scheme().New(live.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	object, ok := known.(client.Object)
	if !ok {
		t.Fatalf("%T is no object", known)
	}
	err = c.Get(t.Context(), client.ObjectKeyFromObject(live), object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return object
}
