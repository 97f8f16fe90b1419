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
