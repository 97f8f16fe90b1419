package steady

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestFingerprint: that of another object is another one where what we own has another
// value, or another place.
func TestFingerprint(t *testing.T) {
	schemas := schemasOf(t, serverModels(t, "apis/apps/v1"))
	base := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, finalizers: [a.b/c, a.b/d], labels: {app: web}}\n" +
		"spec: {minReadySeconds: 1, template: {spec: {containers: [{name: a, args: [-a, -b]}, {name: b, tty: true}], nodeSelector: {k: v, l: w}}}}\n"
	before := newProof(t, schemas, base).print()
	for name, c := range map[string]struct {
		path  []string
		value any
		same  bool
	}{
		"nothing":                    {[]string{"metadata", "name"}, "web", true},
		"a value of another":         {[]string{"spec", "paused"}, true, true},
		"a label":                    {[]string{"metadata", "labels", "app"}, "other", false},
		"a label of another":         {[]string{"metadata", "labels", "other"}, "other", true},
		"a number":                   {[]string{"spec", "minReadySeconds"}, int64(2), false},
		"a number as text":           {[]string{"spec", "minReadySeconds"}, "1", false},
		"items of a set turned":      {[]string{"metadata", "finalizers"}, []any{"a.b/d", "a.b/c"}, false},
		"an item of a set gone":      {[]string{"metadata", "finalizers"}, []any{"a.b/c"}, false},
		"an item of a set more":      {[]string{"metadata", "finalizers"}, []any{"a.b/c", "a.b/d", "a.b/e"}, true},
		"an item in between":         {[]string{"metadata", "finalizers"}, []any{"a.b/c", "a.b/e", "a.b/d"}, false},
		"an atomic map":              {[]string{"spec", "template", "spec", "nodeSelector"}, map[string]any{"k": "w", "l": "v"}, false},
		"an atomic map, with a null": {[]string{"spec", "template", "spec", "nodeSelector"}, map[string]any{"k": "v", "l": nil}, false},
		"items turned":               {[]string{"spec", "template", "spec", "containers"}, []any{item("name", "b", "tty", true), item("name", "a", "args", []any{"-a", "-b"})}, false},
		"an atomic list turned":      {[]string{"spec", "template", "spec", "containers"}, []any{item("name", "a", "args", []any{"-b", "-a"}), item("name", "b", "tty", true)}, false},
		"a truth":                    {[]string{"spec", "template", "spec", "containers"}, []any{item("name", "a", "args", []any{"-a", "-b"}), item("name", "b", "tty", false)}, false},
		"one with a field more":      {[]string{"spec", "template", "spec", "containers"}, []any{item("name", "a", "args", []any{"-a", "-b"}, "tty", true), item("name", "b", "tty", true)}, true},
		"nothing is there":           {[]string{"spec", "template"}, nil, false},
	} {
		changed := newProof(t, schemas, base)
		raw := changed.read.Object.(*unstructured.Unstructured).Object //nolint:forcetypeassert // newProof's
		if err := unstructured.SetNestedField(raw, c.value, c.path...); err != nil {
			t.Fatal(name, err)
		}
		if same := before.HoldsFor(changed.print()); same != c.same {
			t.Errorf("%s: the same %v, want %v", name, same, c.same)
		}
	}
}

func item(pairs ...any) map[string]any {
	fields := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i].(string)] = pairs[i+1] //nolint:forcetypeassert // by the caller
	}
	return fields
}

func (p *proofCase) print() *Print { return p.request.PrintOf(p.read) }

// TestNoFingerprint: a Print holds for no other version if an owned value is not there.
func TestNoFingerprint(t *testing.T) {
	gadgets := gadgetSchemas(t)
	quantity := func() *proofCase { return newProof(t, gadgets, gadgetOf("{size: '1'}")) }
	nothing := newProof(t, gadgets, "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: web, namespace: shop}\n")
	nothing.read.Kind.Kind = "Other"
	for name, c := range map[string]struct {
		*proofCase

		want bool
	}{
		"a quantity":              {quantity(), true},
		"typed: that shows it":    {newProof(t, gadgets, gadgetOf("{name: a}")).readAs(t, &gadget{}), true},
		"a field is not there":    {newProof(t, gadgets, gadgetOf("{name: a, depth: 1}"), gadgetOf("{name: a}")), false},
		"nor is what holds it":    {newProof(t, gadgets, gadgetOf("{tree: {}, table: {a: {}}}"), gadgetOf("{tree: {}}")), false},
		"metadata alone":          {quantity().readAs(t, &metav1.PartialObjectMetadata{}), false},
		"of another kind":         {quantity().asks(func(r *Request) { r.Kind.Version = "v1"; r.Kind.Kind = "Other" }), false},
		"without an entry":        {quantity().entries(none), false},
		"with two":                {quantity().entries(twice), false},
		"with one that is broken": {quantity().entries(brokenBehind), false},
		"with one of no fields":   {quantity().entries(withoutFields(1)), false},
		"read as another kind":    {nothing, false},
		"an item is not there":    {newProof(t, gadgets, gadgetOf("{parts: [{name: a}]}"), gadgetOf("{parts: [{name: b}]}")), false},
		"a text is not there":     {newProof(t, gadgets, gadgetOf("{name: a, port: 1}"), gadgetOf("{port: 1}")), false},
		"nor before what is":      {newProof(t, gadgets, gadgetOf("{blob: a, labels: {a: b}}"), gadgetOf("{labels: {a: b}}")), false},
		"a text for a list":       {newProof(t, gadgets, gadgetOf("{parts: [{name: a}]}"), gadgetOf("{parts: a}")), false},
		"a member is not there":   {newProof(t, gadgets, withFinalizer("[a.b/c]"), withFinalizer("[a.b/d]")), false},
		"a text for a set":        {newProof(t, gadgets, withFinalizer("[a.b/c]"), withFinalizer("a.b/c")), false},
		"a text for a map":        {newProof(t, gadgets, gadgetOf("{labels: {a: b}}"), gadgetOf("{labels: a}")), false},
	} {
		if found := c.print(); found.HoldsFor(c.print()) != c.want {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func withFinalizer(by string) string {
	return "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: web, namespace: shop, finalizers: " + by + "}\n"
}

// brokenBehind has our entry end in what nobody can read.
func brokenBehind(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	all[1].FieldsV1 = metav1.NewFieldsV1(strings.TrimSuffix(all[1].FieldsV1.GetRawString(), "}") + `,"i:x":{}}`)
	return all
}

func TestProven(t *testing.T) {
	before := &Print{UID: "1", entry: 1, values: 1}
	for _, c := range []struct {
		read, pinned types.UID
		want         bool
	}{{"1", "", true}, {"1", "1", true}, {"2", "", false}, {"1", "2", false}, {"2", "2", false}, {"", "", false}} {
		read := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: c.read}}
		if got := before.IsOf(read, c.pinned); got != c.want {
			t.Errorf("a read of %q, pinned to %q: %v", c.read, c.pinned, got)
		}
	}
	for name, c := range map[string]struct {
		before, now Print
		want        bool
	}{
		"the same":      {Print{entry: 1, values: 1}, Print{entry: 1, values: 1}, true},
		"another entry": {Print{entry: 1, values: 1}, Print{entry: 2, values: 1}, false},
		"other values":  {Print{entry: 1, values: 1}, Print{entry: 1, values: 2}, false},
		"another type":  {Print{entry: 1, values: 1}, Print{entry: 1, values: 1, goType: reflect.TypeFor[int]()}, false},
		"one version":   {Print{}, Print{}, false},
	} {
		if got := c.before.HoldsFor(&c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
