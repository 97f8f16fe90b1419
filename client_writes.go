package coapply

import (
	"cmp"
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/apply"
)

// writesClient wraps the manager's client, and records each write. Until the cache shows a recorded write, the cached
// object is not used to prove that an apply is a no-op. Failed writes are recorded too: such a write may have succeeded
// with its response lost, and an error such as a 404 may show that the cache is out of date. After a failed write, the
// resourceVersion of the object is unknown, and the next apply to the object is sent.
type writesClient struct {
	client.Client

	rt *Runtime
}

// writes returns the client for all writes by the Clients and the Updaters of the Runtime.
func (rt *Runtime) writes() client.Client { return &writesClient{rt.mgr.GetClient(), rt} }

func (c *writesClient) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	return c.wrote(object, object, c.Client.Create(ctx, object, opts...))
}

func (c *writesClient) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	return c.wrote(object, object, c.Client.Update(ctx, object, opts...))
}

func (c *writesClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	return c.wrote(object, object, c.Client.Patch(ctx, object, patch, opts...))
}

func (c *writesClient) Delete(ctx context.Context, object client.Object, opts ...client.DeleteOption) error {
	return c.wrote(object, nil, c.Client.Delete(ctx, object, opts...))
}

func (c *writesClient) DeleteAllOf(ctx context.Context, object client.Object, opts ...client.DeleteAllOfOption) error {
	err := c.Client.DeleteAllOf(ctx, object, opts...)
	if kind, kindErr := c.GroupVersionKindFor(object); kindErr == nil {
		options := (&client.DeleteAllOfOptions{}).ApplyOptions(opts)
		c.rt.steady.WroteAll(kind.GroupKind(), options.Namespace)
	}
	return err
}

func (c *writesClient) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	return c.applied(config, c.Client.Apply(ctx, config, opts...))
}

func (c *writesClient) Status() client.SubResourceWriter { return c.SubResource("status") }

func (c *writesClient) SubResource(name string) client.SubResourceClient {
	return &writesSubResource{c.Client.SubResource(name), c}
}

type writesSubResource struct {
	client.SubResourceClient

	writes *writesClient
}

func (s *writesSubResource) Create(ctx context.Context, object, body client.Object, opts ...client.SubResourceCreateOption) error {
	return s.writes.wrote(object, nil, s.SubResourceClient.Create(ctx, object, body, opts...))
}

func (s *writesSubResource) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	answer := cmp.Or((&client.SubResourceUpdateOptions{}).ApplyOptions(opts).SubResourceBody, object)
	return s.writes.wrote(object, answer, s.SubResourceClient.Update(ctx, object, opts...))
}

func (s *writesSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	answer := cmp.Or((&client.SubResourcePatchOptions{}).ApplyOptions(opts).SubResourceBody, object)
	return s.writes.wrote(object, answer, s.SubResourceClient.Patch(ctx, object, patch, opts...))
}

func (s *writesSubResource) Apply(ctx context.Context, config runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	return s.writes.applied(config, s.SubResourceClient.Apply(ctx, config, opts...))
}

// wrote records a write to an object, and returns the given error of the write. answer is the decoded response of the
// API server, or nil if the response does not contain the object's resourceVersion. The resourceVersion of an object
// that is being deleted is not recorded. After the removal of the last finalizer, the object no longer exists, but the
// response still contains the old resourceVersion.
func (c *writesClient) wrote(object, answer client.Object, err error) error {
	kind, kindErr := c.GroupVersionKindFor(object)
	if kindErr != nil {
		return err // no request was sent, because the client does not know the kind
	}
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(object)}
	if err == nil && answer != nil && answer.GetDeletionTimestamp() == nil {
		ref.ResourceVersion = answer.GetResourceVersion()
	}
	c.rt.steady.Wrote(ref)
	return err
}

// applied records an apply that was sent without an Applier, and returns the given error of the apply.
func (c *writesClient) applied(config runtime.ApplyConfiguration, err error) error {
	ref := objectOf(config)
	if err != nil {
		ref.ResourceVersion = ""
	}
	c.rt.steady.Wrote(ref)
	return err
}

// Patch implements client.Client. It handles a patch of type apply like an Apply.
func (c *applyingClient) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	options := &client.SubResourcePatchOptions{PatchOptions: *(&client.PatchOptions{}).ApplyOptions(opts)}
	return c.patch(ctx, object, "", patch, options, func(patch client.Patch) error {
		return c.Client.Patch(ctx, object, patch, opts...)
	})
}

func (s *applyingSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	options := (&client.SubResourcePatchOptions{}).ApplyOptions(opts)
	return s.client.patch(ctx, object, s.name, patch, options, func(patch client.Patch) error {
		return s.SubResourceClient.Patch(ctx, object, patch, opts...)
	})
}

// patch handles a patch of type apply, for an object or for a subresource. Any other patch, and a patch that cannot be
// expressed as an Apply, is sent unchanged by the given function send.
func (c *applyingClient) patch(
	ctx context.Context, object client.Object, subresource string, patch client.Patch, options *client.SubResourcePatchOptions, send func(client.Patch) error,
) error {
	if patch.Type() != types.ApplyPatchType {
		return send(patch)
	}
	into := cmp.Or(options.SubResourceBody, object)
	data, err := patch.Data(into)
	if err != nil {
		return err
	}
	content := c.contentOf(data, into)
	if content == nil || options.Raw != nil || options.FieldValidation != "" {
		return send(client.RawPatch(types.ApplyPatchType, data))
	}
	intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(content), Subresource: subresource}
	if options.SubResourceBody != nil {
		kind, err := c.GroupVersionKindFor(object)
		if err != nil {
			return err
		}
		content = &unstructured.Unstructured{}
		content.SetGroupVersionKind(kind)
		content.SetNamespace(object.GetNamespace())
		content.SetName(object.GetName())
		intent.Config, intent.Body = client.ApplyConfigurationFromUnstructured(content), intent.Config
	}
	err = c.apply(ctx, intent, client.ApplyOptions{
		DryRun: options.DryRun, Force: options.Force, FieldManager: options.FieldManager,
		DisableReadYourWritesConsistency: options.DisableReadYourWritesConsistency,
	})
	if err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content.Object, into)
}

// contentOf returns the decoded content of an apply patch, which is JSON or YAML. It returns nil if the content is
// malformed, or is for an object other than the patched object. The caller then sends the patch unchanged, so that the
// API server returns the error.
func (c *applyingClient) contentOf(data []byte, object client.Object) *unstructured.Unstructured {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil
	}
	content := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(asJSON, &content.Object); err != nil {
		return nil
	}
	kind, err := c.GroupVersionKindFor(object)
	if err != nil || content.GroupVersionKind() != kind || client.ObjectKeyFromObject(content) != client.ObjectKeyFromObject(object) {
		return nil
	}
	return content
}
