package steady

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// gadgetType is a gadget that sets nothing, by the server's schema.
func gadgetType(t *testing.T) *typed.TypedValue {
	t.Helper()
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(gadgetKind)
	of, err := gadgetSchemas(t).ObjectToTyped(empty)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func TestHides(t *testing.T) {
	part, slot := fieldpath.KeyByFields("name", "a"), fieldpath.KeyByFields("key", "a", "newer", "a")
	for name, c := range map[string]struct {
		path  []any
		hides bool
	}{
		"a text":                     {[]any{"spec", "name"}, false},
		"a number, embedded":         {[]any{"spec", "depth"}, false},
		"a text or a number":         {[]any{"spec", "port"}, false},
		"a label":                    {[]any{"metadata", "labels", "a"}, false},
		"a text of a map":            {[]any{"spec", "labels", "a"}, false},
		"a map as one":               {[]any{"spec", "pick"}, false},
		"a text of an item":          {[]any{"spec", "parts", part, "name"}, false},
		"texts of an item":           {[]any{"spec", "parts", part, "tags"}, false},
		"a finalizer":                {[]any{"metadata", "finalizers", value.NewValueInterface("x")}, false},
		"anything, as JSON":          {[]any{"spec", "free"}, false},
		"what contains itself":       {[]any{"spec", "tree"}, false},
		"a quantity":                 {[]any{"spec", "size"}, true},
		"a duration":                 {[]any{"spec", "wait"}, true},
		"a quantity of a map":        {[]any{"spec", "limits", "cpu"}, true},
		"quantities as one":          {[]any{"spec", "limits"}, true},
		"a time of an item":          {[]any{"spec", "parts", part, "made"}, true},
		"items as one":               {[]any{"spec", "parts"}, true},
		"bytes":                      {[]any{"spec", "blob"}, true},
		"anything":                   {[]any{"spec", "any", "a"}, true},
		"below a text":               {[]any{"spec", "name", "a"}, true},
		"what nobody knows":          {[]any{"spec", "unknown"}, true},
		"a newer field":              {[]any{"spec", "newer"}, true},
		"a newer field of metadata":  {[]any{"metadata", "newer"}, true},
		"a newer field of an item":   {[]any{"spec", "parts", part, "newer"}, true},
		"an atomic list of newer":    {[]any{"spec", "rules"}, true},
		"an atomic map with a newer": {[]any{"spec", "rule"}, true},
		"the same of an item":        {[]any{"spec", "parts", part, "next"}, true},
		"the same of a map":          {[]any{"spec", "table", "a"}, true},
		"atomic, with a quantity":    {[]any{"spec", "share"}, true},
		"an open map":                {[]any{"spec", "open"}, true},
		"below a pointer":            {[]any{"spec", "tree", "name"}, false},
		"a text for a list":          {[]any{"spec", "loose"}, true},
		"an item of that text":       {[]any{"spec", "loose", part, "name"}, true},
		"a text for a map":           {[]any{"spec", "vague"}, true},
		"an item that is no list's":  {[]any{"spec", "joined", part, "name"}, true},
		"an item that is a text":     {[]any{"spec", "names", part, "name"}, true},
		"a newer key":                {[]any{"spec", "slots", slot, "value"}, true},
	} {
		set := fieldpath.NewSet(fieldpath.MakePathOrDie(c.path...))
		of := gadgetType(t)
		if got := (Read{Object: &gadget{}, Kind: gadgetKind}).hides(set, of.Schema(), of.TypeRef()); got != c.hides {
			t.Errorf("%s: %v", name, got)
		}
		if (Read{Object: &unstructured.Unstructured{}, Kind: gadgetKind}).hides(set, of.Schema(), of.TypeRef()) {
			t.Errorf("%s of an unstructured object", name)
		}
		partial := Read{Object: &metav1.PartialObjectMetadata{}, Kind: gadgetKind}
		if got, want := partial.hides(set, of.Schema(), of.TypeRef()), c.hides || c.path[0] != "metadata"; got != want {
			t.Errorf("%s of metadata alone: %v", name, got)
		}
	}
}

// TestHidesOneOfTwo: what is shown does not make up for what is hidden before it.
func TestHidesOneOfTwo(t *testing.T) {
	of := gadgetType(t)
	for _, paths := range [][2]fieldpath.Path{
		{fieldpath.MakePathOrDie("spec", "blob"), fieldpath.MakePathOrDie("spec", "name")},
		{fieldpath.MakePathOrDie("spec", "any", "a"), fieldpath.MakePathOrDie("spec", "labels", "a")},
	} {
		if !(Read{Object: &gadget{}, Kind: gadgetKind}).hides(fieldpath.NewSet(paths[:]...), of.Schema(), of.TypeRef()) {
			t.Errorf("not hidden: %v", paths)
		}
	}
}

// TestShowsStoredForms: a type that is the server's own shows values as they are stored.
func TestShowsStoredForms(t *testing.T) {
	of := gadgetType(t)
	for name, path := range map[string][]any{
		"a quantity": {"spec", "size"}, "quantities": {"spec", "limits"}, "bytes": {"spec", "blob"}, "anything": {"spec", "any", "a"},
	} {
		for _, exact := range []bool{true, false} {
			v := view{of.Schema(), map[shown]bool{}}
			if v.shows(fieldpath.NewSet(fieldpath.MakePathOrDie(path...)), seen{reflect.TypeFor[gadget](), of.TypeRef(), exact}) != exact {
				t.Errorf("%s: exact %v", name, exact)
			}
		}
	}
	gone := "Gone"
	if (view{of.Schema(), map[shown]bool{}}).showsWhole(seen{reflect.TypeFor[string](), schema.TypeRef{NamedType: &gone}, true}) {
		t.Error("what the schema does not have is shown")
	}
}

// TestShowsEmptyStruct: for a built-in type without fields, the API server stores no fields, even if the schema
// allows some.
func TestShowsEmptyStruct(t *testing.T) {
	of := gadgetType(t)
	for _, exact := range []bool{true, false} {
		v, at := view{of.Schema(), map[shown]bool{}}, seen{reflect.TypeFor[gadget](), of.TypeRef(), exact}
		for _, element := range fieldpath.MakePathOrDie("spec", "free") {
			at, _ = v.below(at, element)
		}
		if at.goType = reflect.TypeFor[struct{}](); v.showsWhole(at) != exact {
			t.Errorf("exact %v", exact)
		}
		if at.goType = reflect.TypeFor[gadgetRule](); v.showsWhole(at) {
			t.Errorf("a type with fields, exact %v", exact)
		}
	}
}
