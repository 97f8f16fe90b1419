package fieldowners_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func timed(seconds int64, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Time = &metav1.Time{Time: time.Unix(seconds, 0)}
	return e
}

func versioned(subresource, apiVersion string, e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
	e.Subresource, e.APIVersion = subresource, apiVersion
	return e
}

// encoded returns an ownership as managed fields, in one line an entry.
func encoded(t testing.TB, o fieldowners.Ownership) []string {
	t.Helper()
	entries, err := o.ManagedFields()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range entries {
		line := e.Manager + "/" + string(e.Operation) + "[" + e.Subresource + "] " + e.APIVersion + " " + e.FieldsType + " " + string(e.FieldsV1.GetRawBytes())
		if e.Time != nil {
			line += e.Time.UTC().Format(" 15:04:05")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestUnionAndWithout(t *testing.T) {
	const (
		x    = `{"f:x":{}}`
		y    = `{"f:y":{}}`
		item = `{"f:l":{"k:{\"name\":\"a\"}":{".":{},"f:image":{}}}}`
		only = `{"f:l":{"k:{\"name\":\"a\"}":{}}}`
	)
	a := func(fields string) metav1.ManagedFieldsEntry { return entry("a", "Apply", fields) }
	type list = []metav1.ManagedFieldsEntry
	for _, test := range []struct {
		reason         string
		one, other     list
		union, without []string
	}{
		{"nobody", nil, nil, nil, nil},
		{"one side only", list{a(x)}, nil, []string{"a/Apply[] apps/v1 FieldsV1 " + x}, []string{"a/Apply[] apps/v1 FieldsV1 " + x}},
		{"the other side only", nil, list{a(x)}, []string{"a/Apply[] apps/v1 FieldsV1 " + x}, nil},
		{"the same: the later time, and the entry goes", list{timed(2, a(x))}, list{timed(3, a(x))}, []string{"a/Apply[] apps/v1 FieldsV1 " + x + " 00:00:03"}, nil},
		{"the same, the other way round", list{timed(3, a(x))}, list{timed(2, a(x))}, []string{"a/Apply[] apps/v1 FieldsV1 " + x + " 00:00:03"}, nil},
		{"other fields: the rest keeps its time", list{timed(2, a(`{"f:x":{},"f:y":{}}`))}, list{timed(3, a(y))},
			[]string{`a/Apply[] apps/v1 FieldsV1 {"f:x":{},"f:y":{}} 00:00:03`}, []string{"a/Apply[] apps/v1 FieldsV1 " + x + " 00:00:02"}},
		{"other identities", list{a(x), entry("b", "Apply", x)}, list{entry("a", "Update", x), versioned("status", "apps/v1", a(x)), versioned("", "apps/v2", a(x))},
			[]string{"a/Apply[] apps/v1 FieldsV1 " + x, "a/Apply[] apps/v2 FieldsV1 " + x, "a/Apply[status] apps/v1 FieldsV1 " + x,
				"a/Update[] apps/v1 FieldsV1 " + x, "b/Apply[] apps/v1 FieldsV1 " + x},
			[]string{"a/Apply[] apps/v1 FieldsV1 " + x, "b/Apply[] apps/v1 FieldsV1 " + x}},
		{"an item and what is below it", list{a(item)}, list{a(only)},
			[]string{"a/Apply[] apps/v1 FieldsV1 " + item}, []string{`a/Apply[] apps/v1 FieldsV1 {"f:l":{"k:{\"name\":\"a\"}":{"f:image":{}}}}`}},
		{"one that owns nothing keeps its entry", list{a(`{}`)}, nil, []string{"a/Apply[] apps/v1 FieldsV1 {}"}, []string{"a/Apply[] apps/v1 FieldsV1 {}"}},
	} {
		one, other := ownership(t, test.one...), ownership(t, test.other...)
		before := slices.Concat(encoded(t, one), encoded(t, other))
		if diff := cmp.Diff(test.union, encoded(t, one.Union(other))); diff != "" {
			t.Errorf("%s: union (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(test.without, encoded(t, one.Without(other))); diff != "" {
			t.Errorf("%s: without (-want +got):\n%s", test.reason, diff)
		}
		if diff := cmp.Diff(before, slices.Concat(encoded(t, one), encoded(t, other))); diff != "" {
			t.Errorf("%s: an operand changed (-before +after):\n%s", test.reason, diff)
		}
	}
}

func TestEqual(t *testing.T) {
	base := timed(1, entry("a", "Apply", `{"f:x":{}}`))
	if !ownership(t, base).Equal(ownership(t, timed(1, entry("a", "Apply", ` { "f:x" : {".":{}} } `)))) {
		t.Error("the same fields in another spelling are not equal")
	}
	for reason, other := range map[string]metav1.ManagedFieldsEntry{
		"another manager":     timed(1, entry("b", "Apply", `{"f:x":{}}`)),
		"another operation":   timed(1, entry("a", "Update", `{"f:x":{}}`)),
		"another subresource": versioned("status", "apps/v1", base),
		"another version":     versioned("", "apps/v2", base),
		"another time":        timed(2, base),
		"another field":       timed(1, entry("a", "Apply", `{"f:y":{}}`)),
		"a field more":        timed(1, entry("a", "Apply", `{"f:x":{".":{},"f:y":{}}}`)),
	} {
		if ownership(t, base).Equal(ownership(t, other)) {
			t.Errorf("%s: equal", reason)
		}
	}
	if (fieldowners.Ownership{}).Equal(ownership(t, base)) || !(fieldowners.Ownership{}).Equal(fieldowners.Ownership{}) {
		t.Error("nothing is equal to nothing only")
	}
}
