package integration

import (
	"fmt"
	"maps"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
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
func (p *platform) wantOwners(t *testing.T, of *unstructuredList, fields map[string]soleOwner) int {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(of.version)
	list.SetKind(of.kind)
	var options []client.ListOption
	if of.label != "" {
		options = append(options, client.HasLabels{of.label})
	}
	if err := p.client.List(t.Context(), list, options...); err != nil {
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

// versions has the resourceVersion of everything that belongs to the platform.
func (p *platform) versions(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, kind := range []metav1.TypeMeta{
		{APIVersion: "platform.coapply.dev/v1alpha1", Kind: "DevboxList"},
		{APIVersion: "platform.coapply.dev/v1alpha1", Kind: "UserList"},
		{APIVersion: "platform.coapply.dev/v1alpha1", Kind: "LicenseList"},
		{APIVersion: "platform.coapply.dev/v1alpha1", Kind: "NodeSetList"},
		{APIVersion: "apps/v1", Kind: "DeploymentList"},
		{APIVersion: "apps/v1", Kind: "ReplicaSetList"},
		{APIVersion: "v1", Kind: "PodList"},
		{APIVersion: "v1", Kind: "ServiceList"},
		{APIVersion: "v1", Kind: "NamespaceList"},
		{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSliceList"},
		{APIVersion: "v1", Kind: "ServiceAccountList"},
		{APIVersion: "v1", Kind: "ResourceQuotaList"},
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "RoleBindingList"},
	} {
		list := &metav1.PartialObjectMetadataList{TypeMeta: kind}
		p.list(t, list)
		maps.Copy(all, versionsOf(kind.Kind, list))
	}
	return all
}

func versionsOf(kind string, list *metav1.PartialObjectMetadataList) map[string]string {
	versions := map[string]string{}
	for i := range list.Items {
		object := &list.Items[i]
		versions[kind+" "+object.Namespace+"/"+object.Name] = object.ResourceVersion
	}
	return versions
}
