package steady

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// TestDiffers: what is not known to differ is left to the schema.
func TestDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		wanted, live any // nil: absent
		want         bool
	}{
		"one text":                {"a", "a", false},
		"another text":            {"a", "b", true},
		"a text for nothing":      {"a", nil, true},
		"no text for nothing":     {"", nil, false},
		"no text for one":         {"", "a", true},
		"a text for a number":     {"1", int64(1), true},
		"another form":            {"1000m", "1", false},
		"true":                    {true, true, false},
		"true for false":          {true, false, true},
		"true for nothing":        {true, nil, true},
		"false for nothing":       {false, nil, false},
		"false for true":          {false, true, true},
		"true for a text":         {true, "true", true},
		"one number":              {int64(1), int64(1), false},
		"another number":          {int64(1), int64(2), true},
		"a number for a text":     {int64(1), "1", false},
		"a number for a fraction": {int64(1), 1.5, false},
		"a number for nothing":    {int64(1), nil, false},
		"a map":                   {item("a", "x"), item("a", "x", "b", "y"), false},
		"another map":             {item("a", "x"), item("a", "y"), true},
		"a map for a text":        {item("a", "x"), "x", false},
		"a map for nothing":       {item("a", "x"), nil, false},
	} {
		live := map[string]any{"at": c.live}
		if c.live == nil {
			live = map[string]any{}
		}
		if got := differs(map[string]any{"at": c.wanted}, value.NewValueInterface(live)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// told writes itself, and not as an object.
type told struct{ appsv1.Deployment }

func (told) MarshalJSON() ([]byte, error) { return []byte(`"told"`), nil }

func TestDiffersFromNoObject(t *testing.T) {
	newProof(t, schemasOf(t, serverModels(t, "apis/apps/v1")), container("image: a")).readAs(t, &told{}).wants(t, "not those of the intent")
}
