package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

func TestConflictString(t *testing.T) {
	hpa := fieldowners.Manager{Name: "hpa", Operation: "Update"}
	at := fieldowners.MustParsePath
	for want, conflict := range map[string]Conflict{
		`.a: owned by hpa/Update`:                      {Manager: hpa, ServerPath: ".a", Ours: 1, Theirs: 2},
		`.a to 1: owned by hpa/Update with value null`: {Manager: hpa, Path: at(".a"), Ours: 1},
		`.a, which has another path in the intent's apiVersion: owned by hpa/Update (apiVersion v2) with the value 2`: {
			Manager: fieldowners.Manager{Name: "hpa", Operation: "Update", APIVersion: "v2"}, Path: at(".a"), Theirs: 2},
		`.a to "<&>": owned by hpa/Update with value {"b":2}`: {Manager: hpa, Path: at(".a"), Ours: "<&>", Theirs: map[string]any{"b": 2}},
		`.a to "x\ny": owned by hpa/Update with value []`:     {Manager: hpa, Path: at(".a"), Ours: "x\ny", Theirs: []any{}},
		`.a to "` + strings.Repeat("é", 79) + `…: owned by hpa/Update with value null`: {
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

// TestDescribeConflicts: what the API server names in another version of the API, or in other words, is not given up or forced by a guess.
func TestDescribeConflicts(t *testing.T) {
	c, live, refused := contested(1)
	c.config.Policy = OnConflict(Relinquish)
	ownership, _ := fieldowners.ParseReadable(live.GetManagedFields())
	c.intent.Fields = map[string]any{"spec": map[string]any{"entries": "ours"}}
	if found, err := c.describeConflicts(wire.ConflictCauses(refused), live, ownership); err != nil || len(found) != 1 || found[0].Decision != Reject || found[0].Ours != nil {
		t.Errorf("a field of another name: %+v, %v", found, err)
	}
	status := (*apierrors.StatusError)(nil)
	if !errors.As(refused, &status) {
		t.Fatal(refused)
	}
	status.ErrStatus.Details.Causes[0].Message = "conflict with somebody"
	if found, err := c.describeConflicts(wire.ConflictCauses(status), live, ownership); err == nil {
		t.Errorf("a cause that cannot be read: %+v", found)
	}
}
