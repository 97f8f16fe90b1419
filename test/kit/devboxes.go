package kit

import (
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
)

// Patch sends body as a JSON merge patch to the object with the given name. With options, it patches the status.
func (p *Platform) Patch(t *testing.T, object client.Object, name, body string, opts ...client.SubResourcePatchOption) {
	t.Helper()
	object.SetNamespace(p.Namespace)
	object.SetName(name)
	patch := client.RawPatch("application/merge-patch+json", []byte(body))
	var err error
	if len(opts) > 0 {
		err = p.Client.Status().Patch(t.Context(), object, patch, opts...)
	} else {
		err = p.Client.Patch(t.Context(), object, patch, client.FieldOwner("person"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Create creates a Devbox in the namespace of the platform.
func (p *Platform) Create(t *testing.T, name string, change ...func(*v1alpha1.Devbox)) *v1alpha1.Devbox {
	t.Helper()
	box := &v1alpha1.Devbox{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec:       v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"},
	}
	for _, c := range change {
		c(box)
	}
	if err := p.Client.Create(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	return box
}

// Get reads an object in the namespace of the platform.
func (p *Platform) Get(t *testing.T, name string, object client.Object) client.Object {
	t.Helper()
	if err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// UnlessApplied returns "" if the Applied conditions of a Devbox are True, and otherwise the first that is not True.
func UnlessApplied(box *v1alpha1.Devbox) string {
	for _, condition := range []string{v1alpha1.ConditionWorkloadApplied, v1alpha1.ConditionPowerApplied, v1alpha1.ConditionNetworkApplied} {
		if !meta.IsStatusConditionTrue(box.Status.Conditions, condition) {
			return fmt.Sprintf("%s is not True: %v", condition, box.Status.Conditions)
		}
	}
	return ""
}

// Versions returns the resourceVersion of each object of the kinds that the platform uses.
func (p *Platform) Versions(t *testing.T) map[string]string {
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
		p.List(t, list)
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

// BoxName returns the name of the i-th Devbox.
func BoxName(i int) string { return fmt.Sprintf("box-%d", i) }

// List lists objects in all namespaces.
func (p *Platform) List(t *testing.T, list client.ObjectList) {
	t.Helper()
	if err := p.Client.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}
