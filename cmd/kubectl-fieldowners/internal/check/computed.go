package check

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi3"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"coapply.dev/fieldowners/whatif"
)

// mayPatch asks the API server whether the user has the right to patch the object. Admission can also answer a dry run
// with 403. If the right is not known, mayPatch returns true.
func (c *command) mayPatch(ctx context.Context, object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	mapping, err := c.client.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return true
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: "patch", Group: kind.Group, Version: kind.Version, Resource: mapping.Resource.Resource, Subresource: c.subresource,
		Namespace: object.GetNamespace(), Name: object.GetName(),
	}}}
	return c.client.Create(ctx, review) != nil || review.Status.Allowed
}

// computing returns a client that computes the response to an apply from the live object, and does not send the apply.
func (c *command) computing(live *unstructured.Unstructured) client.Client {
	return interceptor.NewClient(c.client, interceptor.Funcs{
		Apply: func(_ context.Context, _ client.WithWatch, config runtime.ApplyConfiguration, options ...client.ApplyOption) error {
			return c.compute(live, config, (&client.ApplyOptions{}).ApplyOptions(options))
		},
		SubResourceApply: func(_ context.Context, _ client.Client, _ string, config runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
			return c.compute(live, config, &(&client.SubResourceApplyOptions{}).ApplyOpts(options).ApplyOptions)
		},
	})
}

// schemasOf returns the API server's schemas of a kind.
func (c *command) schemasOf(kind schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	if c.saved != nil {
		return c.saved.schemasOf(kind)
	}
	server, err := c.Config.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	schemas, err := openapi3.NewRoot(server.OpenAPIV3()).GVSpec(kind.GroupVersion())
	if err != nil {
		return nil, fmt.Errorf("getting the API server's OpenAPI schemas: %w", err)
	}
	types, err := managedfields.NewTypeConverter(schemas.Components.Schemas, false)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's OpenAPI schemas: %w", err)
	}
	return types, nil
}

func (c *command) compute(live *unstructured.Unstructured, config runtime.ApplyConfiguration, options *client.ApplyOptions) error {
	wanted := config.(runtime.Unstructured)
	if live.Object == nil { // nobody owns a field
		return nil
	}
	types, err := c.schemasOf(live.GroupVersionKind())
	if err != nil {
		return err
	}
	apply := whatif.Apply{FieldManager: c.manager, Subresource: c.subresource, Config: wanted.UnstructuredContent(), Force: ptr.Deref(options.Force, false)}
	after, conflicts, err := apply.To(live, types)
	switch {
	case err != nil:
		return err
	case len(conflicts) > 0:
		return apierrors.NewApplyConflict(conflicts, "")
	}
	wanted.SetUnstructuredContent(after.Object)
	return nil
}
