package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// A server's path names a field only when exactly one field of that manager is
// written so; another manager, operation or subresource is another owner.
func TestMatchPath(t *testing.T) {
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
	}{
		"the key":           {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", dotted)}, `.metadata.annotations["a.b"]`},
		"the field below":   {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", nested)}, `.metadata.annotations.a.b`},
		"both":              {[]metav1.ManagedFieldsEntry{entry("m", "Update", "", "v1", both)}, ""},
		"another manager":   {[]metav1.ManagedFieldsEntry{entry("n", "Update", "", "v1", dotted)}, ""},
		"another operation": {[]metav1.ManagedFieldsEntry{entry("m", "Apply", "", "v1", dotted)}, ""},
		"another resource":  {[]metav1.ManagedFieldsEntry{entry("m", "Update", "status", "v1", dotted)}, ""},
		"nobody":            {nil, ""},
		"one at two versions": {[]metav1.ManagedFieldsEntry{
			entry("m", "Update", "", "v1", dotted), entry("m", "Update", "", "v2", dotted)}, `.metadata.annotations["a.b"]`},
		"two at two versions": {[]metav1.ManagedFieldsEntry{
			entry("m", "Update", "", "v1", dotted), entry("m", "Update", "", "v2", nested)}, ""},
	} {
		ownership, err := fieldowners.Parse(test.entries)
		if err != nil {
			t.Fatal(err)
		}
		manager := fieldowners.Manager{Name: "m", Operation: metav1.ManagedFieldsOperationUpdate}
		path, ok := matchPath(ownership, nil, &manager, ".metadata.annotations.a.b")
		if path.String() != test.want || ok != (test.want != "") {
			t.Errorf("%s: %v, %v; want %q", name, path, ok, test.want)
		}
	}
}
