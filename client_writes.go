package coapply

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// writesClient is the manager's client. It records each write: until the cache shows the write,
// the cached object must not prove an apply to be a no-op. A write that failed is recorded too:
// it may have succeeded although its answer was lost, or may show, as a 404 does, that the cache
// is behind. Then the object's version is not known, and the next apply is sent.
type writesClient struct {
	client.Client

	rt *Runtime
}

// writes returns the client by which the Runtime's clients and Updaters write.
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

// wrote records a write to an object, and returns the write's error. answer is the value into
// which the client decoded the API server's answer; nil if the answer has no resourceVersion of
// the object. The answer to the removal of the last finalizer of an object that is being deleted
// has the old resourceVersion, although the object is gone.
func (c *writesClient) wrote(object, answer client.Object, err error) error {
	kind, kindErr := c.GroupVersionKindFor(object)
	if kindErr != nil {
		return err // so no request was sent
	}
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object)}
	if err == nil && answer != nil && answer.GetDeletionTimestamp() == nil {
		ref.ResourceVersion = answer.GetResourceVersion()
	}
	c.rt.steady.Wrote(ref)
	return err
}

// applied is wrote for an apply that no Applier made.
func (c *writesClient) applied(config runtime.ApplyConfiguration, err error) error {
	ref := objectOf(config)
	if err != nil {
		ref.ResourceVersion = ""
	}
	c.rt.steady.Wrote(ref)
	return err
}
