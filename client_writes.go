package coapply

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// writesClient is the manager's client, and records each write. Until the cache shows a write,
// the cached object must not be used to prove that an apply is a no-op. Failed writes are
// recorded as well. Such a write may have landed although its response was lost. Or its error may
// show that the cache is out of date, as a 404 does. After a failed write the resourceVersion of
// the object is unknown, and the next apply is sent.
type writesClient struct {
	client.Client

	rt *Runtime
}

// writes returns the client that the Runtime's clients and Updaters use for their writes.
func (rt *Runtime) writes() client.Client { return &writesClient{rt.mgr.GetClient(), rt} }

// Create implements client.Client.
func (c *writesClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	return c.wrote(object, object, c.Client.Create(ctx, object, opts...))
}

// Update implements client.Client.
func (c *writesClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	return c.wrote(object, object, c.Client.Update(ctx, object, opts...))
}

// Patch implements client.Client.
func (c *writesClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.wrote(object, object, c.Client.Patch(ctx, object, patch, opts...))
}

// Delete implements client.Client.
func (c *writesClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	return c.wrote(object, nil, c.Client.Delete(ctx, object, opts...))
}

// DeleteAllOf implements client.Client.
func (c *writesClient) DeleteAllOf(ctx context.Context, object client.Object, opts ...client.DeleteAllOfOption) error {
	err := c.Client.DeleteAllOf(ctx, object, opts...)
	if kind, kindErr := c.GroupVersionKindFor(object); kindErr == nil {
		options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
		c.rt.steady.WroteAll(kind.GroupKind(), options.Namespace)
	}
	return err
}

// Apply implements client.Client.
func (c *writesClient) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.applied(config, c.Client.Apply(ctx, config, opts...))
}

// Status implements client.Client.
func (c *writesClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.Client.
func (c *writesClient) SubResource(name string) client.SubResourceClient {
	return &writesSubResource{c.Client.SubResource(name), c}
}

type writesSubResource struct {
	client.SubResourceClient

	writes *writesClient
}

// Create implements client.SubResourceClient.
func (s *writesSubResource) Create(ctx context.Context, object, body client.Object, opts ...client.SubResourceCreateOption) error {
	return s.writes.wrote(object, nil, s.SubResourceClient.Create(ctx, object, body, opts...))
}

// Update implements client.SubResourceClient.
func (s *writesSubResource) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	answer := object
	if body := (&client.SubResourceUpdateOptions{}).ApplyOptions(opts).SubResourceBody; body != nil {
		answer = body
	}
	return s.writes.wrote(object, answer, s.SubResourceClient.Update(ctx, object, opts...))
}

// Patch implements client.SubResourceClient.
func (s *writesSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	answer := object
	if body := (&client.SubResourcePatchOptions{}).ApplyOptions(opts).SubResourceBody; body != nil {
		answer = body
	}
	return s.writes.wrote(object, answer, s.SubResourceClient.Patch(ctx, object, patch, opts...))
}

// Apply implements client.SubResourceClient.
func (s *writesSubResource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return s.writes.applied(config, s.SubResourceClient.Apply(ctx, config, opts...))
}

// wrote records a write to an object, and returns the error of the write. The argument answer is
// the value into which the client decoded the API server's response. It is nil if the response
// has no resourceVersion of the object. The resourceVersion of an object that is being deleted is
// not recorded. The reason: the response to the removal of the last finalizer has the old
// resourceVersion, although the object no longer exists.
func (c *writesClient) wrote(object, answer client.Object, err error) error {
	kind, kindErr := c.GroupVersionKindFor(object)
	if kindErr != nil {
		return err // without a kind, no request was sent
	}
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object)}
	if err == nil && answer != nil && answer.GetDeletionTimestamp() == nil {
		ref.ResourceVersion = answer.GetResourceVersion()
	}
	c.rt.steady.Wrote(ref)
	return err
}

// applied is wrote for an apply that did not go through an Applier.
func (c *writesClient) applied(config runtime.ApplyConfiguration, err error) error {
	ref := objectOf(config)
	if err != nil {
		ref.ResourceVersion = ""
	}
	c.rt.steady.Wrote(ref)
	return err
}
