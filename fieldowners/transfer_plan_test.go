package fieldowners_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/fieldowners"
)

func planned(t *testing.T, transfer fieldowners.Transfer, entries list) fieldowners.TransferPlan {
	t.Helper()
	plan, err := transfer.Plan(entries, nil)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestPlanOrder: what moves and what does not is in the order of managers, then fields, whoever was named first.
func TestPlanOrder(t *testing.T) {
	const fields = `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:b":{}}}`
	plan := planned(t, migrate("us", "old", "before"), list{owned("old Update v1", fields), owned("before Update v1", fields)})
	want := []string{".spec.a: before/Update -> us/Apply", ".spec.b: before/Update -> us/Apply", ".spec.a: old/Update -> us/Apply", ".spec.b: old/Update -> us/Apply"}
	if diff := cmp.Diff(want, linesOf(plan.Moved)); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	if len(plan.Unmoved) != 2 || plan.Unmoved[0].Manager.Name != "before" || plan.Unmoved[1].Manager.Name != "old" {
		t.Errorf("unmoved: %v", plan.Unmoved)
	}
}

// TestPlanMoves holds what moves beside the fields that are asked for.
func TestPlanMoves(t *testing.T) {
	for _, test := range []struct {
		reason   string
		transfer fieldowners.Transfer
		entries  list
		want     []string
	}{
		{"a parent of which nothing moves stays, beside a field that does", migrate("us", "old .spec.a.x .spec.b"),
			list{owned("old Update v1", `{"f:spec":{"f:a":{".":{},"f:y":{}},"f:b":{}}}`)}, []string{".spec.b: old/Update -> us/Apply"}},
		{"a parent of another entry stays", migrate("us", "old .spec.replicas"),
			list{owned("old Update v1", `{"f:spec":{".":{},"f:y":{}}}`), owned("old Update[scale] v1", `{"f:spec":{"f:replicas":{}}}`)},
			[]string{".spec.replicas: old/Update[scale] -> us/Apply"}},
		{"a parent that is shared already", migrate("us", "old .spec.a"),
			list{owned("old Update v1", `{"f:spec":{".":{},"f:a":{},"f:c":{}}}`), owned("us Apply v1", `{"f:spec":{".":{},"f:b":{}}}`)}, []string{".spec.a: old/Update -> us/Apply"}},
		{"a parent of what moves is shared", migrate("us", "old .spec.a"),
			list{owned("old Update v1", `{"f:spec":{".":{},"f:a":{},"f:c":{}}}`)}, []string{".spec: old/Update -> us/Apply (shared: the former owner also keeps the field)", ".spec.a: old/Update -> us/Apply"}},
		{"renamed to who applies with the object what the former name did through the scale", rename("us", "old"),
			list{owned("us Apply v1", `{"f:spec":{"f:replicas":{}}}`), owned("old Apply[scale] v1", `{"f:spec":{"f:replicas":{}}}`)},
			[]string{".spec.replicas: old/Apply[scale] -> us/Apply (both managers already owned the field)"}},
	} {
		if diff := cmp.Diff(test.want, linesOf(planned(t, test.transfer, test.entries).Moved)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestUndoneLater: an undo gives the former time back, and says what is not there any more.
func TestUndoneLater(t *testing.T) {
	before := list{at(1, owned("old Update v1", `{"f:spec":{"f:a":{}}}`)), at(5, owned("us Apply v1", `{"f:spec":{"f:b":{}}}`))}
	plan := planned(t, migrate("us", "old"), before)
	after, err := plan.Rewrite(before)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := planned(t, plan.Undo(), after).Rewrite(after)
	if err != nil || !strings.HasPrefix(strings.Join(show(restored), ";"), "1 old Update v1") {
		t.Errorf("%v, %v", show(restored), err)
	}
	if gone := planned(t, plan.Undo(), nil); len(gone.Moved) != 0 || len(gone.Unmoved) != 1 || gone.Unmoved[0].Reason != "the manager does not own the field any more" {
		t.Errorf("%v, %v", gone.Moved, gone.Unmoved)
	}
}

// TestOtherEntries: a plan is carried out on what it was made for, and Done on what it made.
func TestOtherEntries(t *testing.T) {
	plan := planned(t, migrate("us", "old"), list{owned("old Update v1", `{"f:spec":{"f:a":{}}}`)})
	if _, err := plan.Rewrite(nil); err == nil || !strings.Contains(err.Error(), "differ from those for which the plan was made") {
		t.Errorf("%v", err)
	}
	if err := plan.Done(list{owned("us Apply v1", `{"f:spec":{"f:b":{}}}`)}); err == nil || err.Error() != "us/Apply does not own .spec.a" {
		t.Errorf("%v", err)
	}
	if rewritten, err := (fieldowners.TransferPlan{}).Rewrite(list{owned("m Update v1", `{"x":{}}`)}); err == nil || rewritten != nil {
		t.Errorf("managed fields that cannot be read were rewritten: %v, %v", rewritten, err)
	}
}

// TestBetweenVersions: a field moves between apiVersions if it is the same in both, as an empty list is.
func TestBetweenVersions(t *testing.T) {
	entries := list{owned("old Update v2", `{"f:spec":{"f:l":{}}}`)}
	of := func(l any) map[string]any { return map[string]any{"spec": map[string]any{"l": l}} }
	object := func(items ...any) map[string]any { return of(append([]any{}, items...)) }
	for _, test := range []struct {
		reason  string
		objects fieldowners.Objects
		want    string
	}{
		{"it was not read", nil, "the object must be read in both v2 and v1 before the field can move"},
		{"it was read in one", fieldowners.Objects{"v1": object()}, "the object must be read in both v2 and v1 before the field can move"},
		{"an empty list", fieldowners.Objects{"v1": object(), "v2": object()}, ""},
		{"an empty map", fieldowners.Objects{"v1": of(map[string]any{}), "v2": of(map[string]any{})}, ""},
		{"a map with fields", fieldowners.Objects{"v1": of(map[string]any{"x": "y"}), "v2": of(map[string]any{"x": "y"})}, "the field is owned as a whole in v2, but perhaps not in v1"},
		{"a list with items", fieldowners.Objects{"v1": object("x"), "v2": object("x")}, "the field is owned as a whole in v2, but perhaps not in v1"},
	} {
		plan, err := migrate("us", "old").Plan(entries, test.objects)
		if err != nil {
			t.Fatal(err)
		}
		reason := ""
		for _, u := range plan.Unmoved {
			reason = u.Reason
		}
		if reason != test.want || len(plan.Moved)+len(plan.Unmoved) != 1 {
			t.Errorf("%s: %q, want %q; %v moves", test.reason, reason, test.want, plan.Moved)
		}
	}
}
