package platform

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// unstructuredList names a list of objects of every namespace.
type unstructuredList struct {
	version, kind string
	label         string // that the objects have; "" is all
}

// soleOwner is a field's only owner and, unless nil, its value.
type soleOwner struct {
	manager string
	value   any
}

// wantOwners checks the fields of each object of a list, and gives their number.
func wantOwners(t *testing.T, p *kit.Platform, of *unstructuredList, fields map[string]soleOwner) int {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(of.version)
	list.SetKind(of.kind)
	var options []client.ListOption
	if of.label != "" {
		options = append(options, client.HasLabels{of.label})
	}
	if err := p.Client.List(t.Context(), list, options...); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		object := &list.Items[i]
		ownership, err := fieldowners.Parse(object.GetManagedFields())
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range fields {
			owners := ownership.OwnersOf(fieldowners.MustParsePath(path))
			if len(owners) != 1 || owners[0].Name != want.manager {
				t.Errorf("%s of %s %s/%s is owned by %v, want %s", path, object.GetKind(), object.GetNamespace(), object.GetName(), owners, want.manager)
			}
			value, found := fieldowners.MustParsePath(path).Value(object.Object)
			if !found || want.value != nil && fmt.Sprint(value) != fmt.Sprint(want.value) {
				t.Errorf("%s of %s %s/%s is %v, want %v", path, object.GetKind(), object.GetNamespace(), object.GetName(), value, want.value)
			}
		}
	}
	return len(list.Items)
}
