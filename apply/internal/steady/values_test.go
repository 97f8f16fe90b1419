package steady

import (
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// TestIsElement has the steps of a path that lead to items of lists.
func TestIsElement(t *testing.T) {
	first, text, key := 1, value.NewValueInterface("a"), fieldpath.KeyByFields("name", "a")
	for name, c := range map[string]struct {
		item any
		step fieldpath.PathElement
		want bool
	}{
		"at its index":      {"x", fieldpath.PathElement{Index: &first}, true},
		"the value":         {"a", fieldpath.PathElement{Value: &text}, true},
		"another value":     {"b", fieldpath.PathElement{Value: &text}, false},
		"the key":           {item("name", "a"), fieldpath.PathElement{Key: key}, true},
		"another key":       {item("name", "b"), fieldpath.PathElement{Key: key}, false},
		"without the key":   {item("other", "a"), fieldpath.PathElement{Key: key}, false},
		"what has no field": {"a", fieldpath.PathElement{Key: key}, false},
	} {
		if got := isElement(value.NewValueInterface(c.item), 1, c.step); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if isElement(text, 0, fieldpath.PathElement{Index: &first}) {
		t.Error("at another index")
	}
}
