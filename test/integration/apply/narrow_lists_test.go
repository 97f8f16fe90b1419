package apply

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// gadgetLists has lists of each type. The Go type lacks the fields named future.
const gadgetLists = `
parts:
- {name: a, size: 1024Mi, "on": true, future: f}
- {name: b, size: 1024Mi, "on": true, future: f}
steps:
- {name: one, size: 1024Mi, future: f}
- {name: two, size: 1024Mi}
tags: [z, a]
`

// TestNarrowLists: what a typed write makes of keyed, atomic and set lists of a custom resource.
func TestNarrowLists(t *testing.T) {
	t.Parallel()
	c := gadgets(t, kit.Server(t))
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t)))
	u, err := update.New(update.Config{
		Client: c, LiveReader: c, FieldManager: kit.OurManager, Schemas: kit.NewSteadyState(t, kit.Server(t), c, gadgetGroup).Schemas,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, test := range []struct {
		reason  string
		change  func(*gadgetSpec)
		list    string // that is to have
		want    string
		refused string
	}{
		{
			reason: "a changed part keeps its fields, also where another one goes",
			change: func(s *gadgetSpec) { s.Parts = s.Parts[1:]; s.Parts[0].On = false },
			list:   "parts", want: `[{name: b, size: 1024Mi, "on": false, future: f}]`,
		},
		{
			reason: "a part that replaces another one inherits nothing",
			change: func(s *gadgetSpec) { s.Parts[0].Name = "new" },
			list:   "parts", want: `[{name: new, size: 1Gi, "on": true}, {name: b, size: 1024Mi, "on": true, future: f}]`,
		},
		{
			reason: "a changed step is sent as it is",
			change: func(s *gadgetSpec) { s.Steps[1].On = true },
			list:   "steps", want: `[{name: one, size: 1024Mi, future: f}, {name: two, size: 1Gi, "on": true}]`,
		},
		{
			reason: "unless it could lose a field",
			change: func(s *gadgetSpec) { s.Steps[0].On = true }, refused: ".spec.steps[0].future",
		},
		{
			reason: "a step can be removed",
			change: func(s *gadgetSpec) { s.Steps = s.Steps[:1] },
			list:   "steps", want: `[{name: one, size: 1024Mi, future: f}]`,
		},
		{
			reason: "also one with a field that the Go type lacks",
			change: func(s *gadgetSpec) { s.Steps = s.Steps[1:] },
			list:   "steps", want: `[{name: two, size: 1024Mi}]`,
		},
		{
			reason: "and another one added",
			change: func(s *gadgetSpec) {
				s.Steps = append([]gadgetPart{{Name: "new", Size: resource.MustParse("1")}}, s.Steps...)
			},
			list: "steps", want: `[{name: new, size: "1", "on": false}, {name: one, size: 1024Mi, future: f}, {name: two, size: 1024Mi}]`,
		},
		{
			reason: "items of a set come and go",
			change: func(s *gadgetSpec) { s.Tags = []string{"a", "new"} },
			list:   "tags", want: `[a, new]`,
		},
	} {
		key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprint("lists-", i)}
		live := kit.NewUnstructured(gadgetGroup.String(), "Gadget", key)
		live.Object["spec"] = ofYAML(t, gadgetLists)
		if err := c.Create(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		named := &gadget[gadgetV1]{}
		named.Namespace, named.Name = key.Namespace, key.Name
		_, err := update.Do(t.Context(), u, named, func(g *gadget[gadgetV1]) error { test.change(&g.Spec); return nil })
		want := live.DeepCopy()
		switch {
		case test.refused != "":
			wantUnknownField(t, err, test.refused, "*apply.gadget")
		case err != nil:
			t.Errorf("%s: %v", test.reason, err)
		default:
			_ = unstructured.SetNestedField(want.Object, ofYAML(t, test.want), "spec", test.list)
		}
		got := kit.LiveAt(t, c, kit.RefTo(live.GroupVersionKind(), key.Namespace, key.Name))
		if diff := cmp.Diff(want.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.reason, diff)
		}
	}
}

func ofYAML(t *testing.T, text string) (value any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}
