package memory

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Entry returns a managed fields entry of a Deployment.
func Entry(name string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: name, Operation: operation, Subresource: subresource, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// The owners of the Deployment web, unless a test says otherwise.
var (
	HPA     = Entry("hpa", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`)
	Kubectl = Entry("kubectl", "Apply", "", `{"f:spec":{"f:paused":{}}}`)
)

// NewWeb returns a Deployment with 5 replicas, paused.
func NewWeb() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(5)), Paused: true, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1"}}},
			},
		},
	}
}

// Web creates the Deployment web. Without entries, hpa owns the replicas and kubectl owns the pause.
func (w *World) Web(entries ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	w.Helper()
	return w.Make(NewWeb(), entries...)
}

// Make creates a Deployment with the entries as its managed fields, or with HPA and Kubectl if there are no entries.
func (w *World) Make(web *appsv1.Deployment, entries ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	w.Helper()
	w.Must(w.Create(w.Context(), web, client.FieldOwner("test")))
	if len(entries) == 0 {
		entries = []metav1.ManagedFieldsEntry{HPA, Kubectl}
	}
	w.Own(entries...)
	return w.Live()
}

// Own makes the entries the managed fields of the Deployment web.
func (w *World) Own(entries ...metav1.ManagedFieldsEntry) {
	w.Helper()
	OwnAs(w, NewWeb(), entries...)
}

// OwnAs makes the entries the managed fields of an object.
func OwnAs(w *World, object client.Object, entries ...metav1.ManagedFieldsEntry) {
	w.Helper()
	w.Must(own(w.Context(), w, object, entries))
}

// Live returns the Deployment web.
func (w *World) Live() *appsv1.Deployment {
	w.Helper()
	live := NewWeb()
	w.Must(w.Get(w.Context(), client.ObjectKeyFromObject(live), live))
	live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return live
}

// Touch writes to the Deployment web, so that it gets another resourceVersion.
func (w *World) Touch() {
	w.Helper()
	w.Merge("toucher", fmt.Sprintf(`{"metadata":{"annotations":{"touched":%q}}}`, w.Live().ResourceVersion))
}

// Merge sends a JSON merge patch of the Deployment web.
func (w *World) Merge(by, patch string) {
	w.Helper()
	w.Must(w.Patch(w.Context(), NewWeb(), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(by)))
}

// Remove deletes the Deployment web.
func (w *World) Remove() {
	w.Helper()
	w.Must(w.Delete(w.Context(), NewWeb()))
}

// Recreate deletes the Deployment web and creates another one of that name.
func (w *World) Recreate(entries ...metav1.ManagedFieldsEntry) {
	w.Helper()
	w.Remove()
	w.Web(entries...)
}

// Must fails the test if a write of another client fails.
func (w *World) Must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// ShopWithWeb creates the Deployment web in the server of Shop, and returns a client, for Go examples.
func ShopWithWeb(owners ...metav1.ManagedFieldsEntry) (client.Client, error) {
	server, err := Shop()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	if err := server.Create(ctx, NewWeb(), client.FieldOwner("test")); err != nil {
		return nil, err
	}
	if err := own(ctx, server, NewWeb(), owners); err != nil {
		return nil, err
	}
	config := server.Config()
	config.Wrap(apply.RecordExchange)
	return client.New(config, client.Options{})
}

// own replaces the managed fields of an object with the given entries.
func own(ctx context.Context, c client.Client, object client.Object, entries []metav1.ManagedFieldsEntry) error {
	if len(entries) == 0 {
		entries = []metav1.ManagedFieldsEntry{{}} // how a client tells the server that there are no owners
	}
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/metadata/managedFields", "value": entries}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch))
}

// gadget is a kind without a Go type.
var gadget = schema.GroupVersionKind{Group: "gadgets.example.com", Version: "v1", Kind: "Gadget"}

// Gadgets installs the CRD of a kind without a Go type and without a schema, and deletes all objects of this kind.
func (w *World) Gadgets() schema.GroupVersionKind {
	w.Helper()
	keep := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + gadget.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gadget.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: gadget.Kind, Plural: "gadgets"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gadget.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}},
			}},
		},
	}
	w.Must(client.IgnoreAlreadyExists(w.Create(w.Context(), crd)))
	remaining := &unstructured.Unstructured{}
	remaining.SetGroupVersionKind(gadget)
	w.Must(w.DeleteAllOf(w.Context(), remaining, client.InNamespace("shop")))
	return gadget
}
