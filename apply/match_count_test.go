package apply

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/apply/internal/applyconfig"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// contested returns an intent and an object that differ in one field of each of n list items, and
// the API server's response with these conflicts.
func contested(n int) (*call, *unstructured.Unstructured, error) {
	causes := make([]metav1.StatusCause, n)
	var fields strings.Builder
	items := func(value string) map[string]any {
		all := make([]any, n)
		for i := range all {
			all[i] = map[string]any{"name": fmt.Sprint("item-", i), "value": value}
		}
		return map[string]any{"metadata": map[string]any{"name": "web"}, "spec": map[string]any{"items": all}}
	}
	for i := range causes {
		causes[i] = metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "them"`,
			Field: fmt.Sprintf(`.spec.items[name="item-%d"].value`, i)}
		fmt.Fprintf(&fields, `,"k:{\"name\":\"item-%d\"}":{".":{},"f:name":{},"f:value":{}}`, i)
	}
	live := &unstructured.Unstructured{Object: items("theirs")}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "them", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:items":{` + strings.TrimPrefix(fields.String(), ",") + `}}}`),
	}})
	c := &call{Applier: &Applier{config: Config{FieldManager: "us"}}, intent: &encodedIntent{Content: applyconfig.Content{Fields: items("ours")}}}
	return c, live, &apierrors.StatusError{ErrStatus: metav1.Status{
		Code: 409, Reason: metav1.StatusReasonConflict, Details: &metav1.StatusDetails{Causes: causes},
	}}
}

// reject does what a Reject decision does between the API server's response and the returned
// error.
func reject(c *call, live *unstructured.Unstructured, refused error) (int, error) {
	ownership, _ := fieldowners.ParseReadable(live.GetManagedFields())
	found, err := c.describeConflicts(wire.ConflictCauses(refused), live, ownership)
	found = merge(found, found)
	if !hasRejected(found) || found[0].Path.IsRoot() || found[0].Ours != "ours" || found[0].Theirs != "theirs" {
		return 0, fmt.Errorf("%v", found)
	}
	return len((&ConflictError{Conflicts: found}).Error()) + len(texts(found)), err
}

// TestRejectIsLinear: four times as many conflicts take four times as many allocations. Their
// number does not depend on the machine. (fieldowners.TestIndexComparisons counts comparisons.)
func TestRejectIsLinear(t *testing.T) {
	allocations := func(n int) float64 {
		c, live, refused := contested(n)
		return testing.AllocsPerRun(1, func() {
			if _, err := reject(c, live, refused); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := allocations(250), allocations(1000)
	if many > 5*few {
		t.Errorf("%v allocations for 250 conflicts, and %v for 1,000", few, many)
	}
}

func BenchmarkReject(b *testing.B) {
	for _, n := range []int{250, 1000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c, live, refused := contested(n)
			for b.Loop() {
				if _, err := reject(c, live, refused); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
