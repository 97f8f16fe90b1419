package named

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func annotated(annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// A server's path names a field only when exactly one field of that manager is
// written so; another manager, operation or subresource is another owner.
func TestFind(t *testing.T) {
	const dotted = `{"f:metadata":{"f:annotations":{"f:a.b":{}}}}`
	const nested = `{"f:metadata":{"f:annotations":{"f:a":{"f:b":{}}}}}`
	const both = `{"f:metadata":{"f:annotations":{"f:a.b":{},"f:a":{"f:b":{}}}}}`
	entry := func(name, operation, subresource, version, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: name, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource,
			APIVersion: version, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string // "": none
		intent  map[string]any
	}{
		"the key":           {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", dotted)}, `.metadata.annotations["a.b"]`, nil},
		"the field below":   {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", nested)}, `.metadata.annotations.a.b`, nil},
		"both":              {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", both)}, "", nil},
		"another manager":   {[]metav1.ManagedFieldsEntry{entry("n", "Update", "", "v1", dotted)}, "", nil},
		"another operation": {[]metav1.ManagedFieldsEntry{entry("m", "Apply", "", "v1", dotted)}, "", nil},
		"another resource":  {[]metav1.ManagedFieldsEntry{entry("m", "Update", "status", "v1", dotted)}, "", nil},
		"nobody":            {nil, "", nil},
		"both, and one is wanted": {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", both)}, `.metadata.annotations["a.b"]`,
			annotated(map[string]any{"a.b": "1"})},
		"one, and both are wanted": {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", dotted)}, `.metadata.annotations["a.b"]`,
			annotated(map[string]any{"a.b": "1", "a": map[string]any{"b": "1"}})},
		"nobody's, and wanted":          {nil, `.metadata.annotations["a.b"]`, annotated(map[string]any{"a.b": "1"})},
		"nobody's, and both are wanted": {nil, "", annotated(map[string]any{"a.b": "1", "a": map[string]any{"b": "1"}})},
		"one at two versions": {[]metav1.ManagedFieldsEntry{
			entry("m", "Update", "", "v1", dotted), entry("m", "Update", "", "v2", dotted)}, `.metadata.annotations["a.b"]`, nil},
		"two at two versions": {[]metav1.ManagedFieldsEntry{
			entry("m", "Update", "", "v1", dotted), entry("m", "Update", "", "v2", nested)}, "", nil},
	} {
		ownership, err := fieldowners.Parse(test.entries)
		if err != nil {
			t.Fatal(err)
		}
		manager := fieldowners.Manager{Name: "m", Operation: metav1.ManagedFieldsOperationUpdate}
		path, ok := New(ownership, fieldowners.NewIndex(test.intent)).Find(&manager, ".metadata.annotations.a.b")
		if path.String() != test.want || ok != (test.want != "") {
			t.Errorf("%s: %v, %v; want %q", name, path, ok, test.want)
		}
	}
}
