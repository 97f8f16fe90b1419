package steady

import (
	"hash/maphash"
	"math"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// TestWholeValues: values of two kinds have two hashes.
func TestWholeValues(t *testing.T) {
	seen := map[uint64]any{}
	h := valueHash{seed: maphash.MakeSeed()}
	for _, of := range []any{
		nil, false, true, int64(0), int64(1), 0.5, 1.5, math.SmallestNonzeroFloat64, "", "1", "true",
		[]any{}, []any{nil}, []any{""}, map[string]any{}, map[string]any{"": nil}, map[string]any{"a": "b"}, map[string]any{"b": "a"},
	} {
		sum := h.whole(value.NewValueInterface(of))
		if other, twice := seen[sum]; twice {
			t.Errorf("%#v and %#v have one hash", of, other)
		}
		seen[sum] = of
	}
}

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
