package fieldowners_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func TestSharedBy(t *testing.T) {
	ours := exampleEntry("us", "Apply", `{"f:metadata":{"f:finalizers":{"v:\"x\"":{}}},"f:spec":{"f:a":{},"f:l":{"k:{\"name\":\"n\"}":{".":{},"f:name":{},"f:b":{}}}}}`)
	all := `{"f:metadata":{"f:finalizers":{"v:\"x\"":{}}},"f:spec":{"f:a":{},"f:l":{"k:{\"name\":\"n\"}":{".":{},"f:name":{},"f:b":{}}}}}`
	for _, test := range []struct {
		reason string
		others []metav1.ManagedFieldsEntry
		want   []string
	}{
		{"nobody else", nil, nil},
		{"another field", []metav1.ManagedFieldsEntry{exampleEntry("them", "Update", `{"f:spec":{"f:c":{}}}`)}, nil},
		{"values alone: no members, no keys, no existence", []metav1.ManagedFieldsEntry{exampleEntry("them", "Update", all)},
			[]string{".spec.a with them/Update", `.spec.l[name="n"].b with them/Update`}},
		{"in the order of fields", []metav1.ManagedFieldsEntry{exampleEntry("a", "Update", `{"f:spec":{"f:l":{"k:{\"name\":\"n\"}":{"f:b":{}}}}}`), exampleEntry("b", "Update", `{"f:spec":{"f:a":{}}}`)},
			[]string{".spec.a with b/Update", `.spec.l[name="n"].b with a/Update`}},
		{"several others, by Apply as well", []metav1.ManagedFieldsEntry{exampleEntry("z", "Apply", `{"f:spec":{"f:a":{}}}`), exampleEntry("b", "Update", `{"f:spec":{"f:a":{}}}`)},
			[]string{".spec.a with b/Update", ".spec.a with z/Apply"}},
		{"ourselves, by Update", []metav1.ManagedFieldsEntry{exampleEntry("us", "Update", `{"f:spec":{"f:a":{}}}`)}, []string{".spec.a with us/Update"}},
		{"an entry that cannot be read", []metav1.ManagedFieldsEntry{exampleEntry("bad", "Update", `{"f:spec":{"x:a":{}}}`), exampleEntry("them", "Update", `{"f:spec":{"f:a":{}}}`)},
			[]string{".spec.a with them/Update"}},
	} {
		var got []string
		for _, shared := range fieldowners.SharedBy(append([]metav1.ManagedFieldsEntry{ours}, test.others...), "us", "") {
			got = append(got, shared.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// TestSharedByLooksAtTheEntryOfTheIntent: entries of other names and of subresources come first, and are not the applier's.
func TestSharedByLooksAtTheEntryOfTheIntent(t *testing.T) {
	entries := []metav1.ManagedFieldsEntry{
		exampleEntry("other", "Apply", `{"f:spec":{"f:x":{}}}`),
		exampleEntry("us", "Apply", `{"f:status":{"f:y":{}}}`),
		exampleEntry("us", "Apply", `{"f:spec":{"f:a":{}}}`),
		exampleEntry("them", "Update", `{"f:spec":{"f:a":{},"f:x":{}},"f:status":{"f:y":{}}}`),
	}
	entries[1].Subresource = "status"
	for subresource, want := range map[string]string{"": ".spec.a with them/Update", "status": ".status.y with them/Update"} {
		got := fieldowners.SharedBy(entries, "us", subresource)
		if len(got) != 1 || got[0].String() != want {
			t.Errorf("through %q: %v, want %s", subresource, got, want)
		}
	}
}

// TestSharedByNobody: who applies nothing that can be read shares nothing.
func TestSharedByNobody(t *testing.T) {
	them := exampleEntry("them", "Apply", `{"f:spec":{"f:a":{}}}`)
	for reason, entries := range map[string][]metav1.ManagedFieldsEntry{
		"only others":         {them, exampleEntry("others", "Update", `{"f:spec":{"f:a":{}}}`)},
		"it updates":          {them, exampleEntry("us", "Update", `{"f:spec":{"f:a":{}}}`)},
		"it cannot be read":   {them, exampleEntry("us", "Apply", `{"f:spec":{"x:a":{}}}`)},
		"nobody owns a thing": nil,
	} {
		if shared := fieldowners.SharedBy(entries, "us", ""); shared != nil {
			t.Errorf("%s: %v", reason, shared)
		}
	}
}
