package apply

import (
	"strings"
	"testing"

	"coapply.dev/fieldowners"
)

func TestConflictString(t *testing.T) {
	hpa := fieldowners.Manager{Name: "hpa", Operation: "Update"}
	at := fieldowners.MustParsePath
	for want, conflict := range map[string]Conflict{
		`.a: owned by hpa/Update`:                       {Manager: hpa, ServerPath: ".a", Ours: 1, Theirs: 2},
		`.a to 1: owned by hpa/Update with null`:        {Manager: hpa, Path: at(".a"), Ours: 1},
		`.a to "<&>": owned by hpa/Update with {"b":2}`: {Manager: hpa, Path: at(".a"), Ours: "<&>", Theirs: map[string]any{"b": 2}},
		`.a to "x\ny": owned by hpa/Update with []`:     {Manager: hpa, Path: at(".a"), Ours: "x\ny", Theirs: []any{}},
		`.a to "` + strings.Repeat("é", 79) + `…: owned by hpa/Update with null`: {
			Manager: hpa, Path: at(".a"), Ours: strings.Repeat("é", 1000)},
	} {
		if got := conflict.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestMerge: a conflict takes the place of the earlier one over its field with its owner, and
// of no other that the server names alike.
func TestMerge(t *testing.T) {
	hpa := fieldowners.Manager{Name: "hpa", Operation: "Update"}
	dotted, below := at(`.metadata.labels["a.b"]`), at(".metadata.labels.a.b")
	dotted.Manager, below.Manager = hpa, hpa
	unknown, other := Conflict{Manager: hpa, ServerPath: ".a"}, Conflict{Manager: hpa, ServerPath: ".b"}
	if got := merge([]Conflict{dotted, unknown}, []Conflict{below, other}); len(got) != 4 {
		t.Errorf("of four fields: %v", got)
	}
	forced := dotted
	forced.Decision = Force
	if got := merge([]Conflict{dotted}, []Conflict{forced}); len(got) != 1 || got[0].Decision != Force {
		t.Errorf("of one field: %v", got)
	}
}
