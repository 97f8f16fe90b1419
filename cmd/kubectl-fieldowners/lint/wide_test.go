package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
)

// TestWideUpdate holds whom a wide update is told of, and to whom the fields go back.
func TestWideUpdate(t *testing.T) {
	const finalizer = `"f:finalizers":{"v:\"x/y\"":{}}`
	const wide = `{"f:metadata":{` + finalizer + `},"f:spec":{"f:a":{}}}`
	update := func(manager, fields string) metav1.ManagedFieldsEntry { return entry(manager, "Update", fields) }
	apply := func(manager, fields string) metav1.ManagedFieldsEntry { return entry(manager, "Apply", fields) }
	helm := apply("helm", `{"f:spec":{"f:c":{}}}`)
	for _, c := range []struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		want    []string // managers, remedy
	}{
		{"who applies meets the conflict, and comes first", []metav1.ManagedFieldsEntry{update("operator", wide), update("client", `{"f:spec":{"f:b":{}}}`), helm},
			[]string{"operator/Update", "helm/Apply", "client/Update", "kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec"}},
		{"the first of two that apply is told of, and gets them", []metav1.ManagedFieldsEntry{update("operator", wide), helm, apply("more", `{"f:data":{"f:a":{},"f:b":{}}}`)},
			[]string{"operator/Update", "helm/Apply", "more/Apply", "kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec"}},
		{"a map of metadata that it made is no content", []metav1.ManagedFieldsEntry{
			update("operator", `{"f:metadata":{`+finalizer+`,"f:labels":{".":{},"f:o":{}}},"f:spec":{"f:a":{}}}`), apply("helm", `{"f:metadata":{"f:labels":{"f:l":{}}},"f:spec":{"f:c":{}}}`)},
			[]string{"operator/Update", "helm/Apply", "kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec"}},
		{"it created a custom resource, and another one adds content", []metav1.ManagedFieldsEntry{
			update("creator", `{"f:data":{"f:k":{}},"f:metadata":{`+finalizer+`},"f:spec":{".":{},"f:a":{}}}`), apply("helm", `{"f:other":{"f:c":{}}}`)}, nil},
		{"an update through a subresource is not one of the whole object", []metav1.ManagedFieldsEntry{inVersion(update("operator", wide), "apps/v1", "resize"), helm}, nil},
		{"nobody but it writes the object itself", []metav1.ManagedFieldsEntry{update("operator", wide), inVersion(apply("us", `{"f:status":{"f:a":{}}}`), "apps/v1", "status")}, nil},
		{"an item of the object, which somebody forged", []metav1.ManagedFieldsEntry{update("operator", `{"i:0":{},"f:metadata":{`+finalizer+`}}`), helm}, nil},
	} {
		findings, err := lint.Check(c.entries, lint.Facts{})
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		var got []string
		for _, f := range findings {
			for _, m := range f.Managers {
				got = append(got, m.String())
			}
			got = append(got, f.Remedy)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
